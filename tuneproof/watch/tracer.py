"""Runs bpftrace, or reports in one sentence why that is impossible.

Nothing is pinned: programs and maps end with bpftrace, and bpftrace ends with this process, even if that is killed.
"""

import ctypes
import os
import platform
import queue
import re
import resource
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.watch.program import ARCHITECTURES, Architecture
from tuneproof.wording import size

_LEAST_VERSION: Final = (0, 17)
_PACKAGE: Final = "apt-get install bpftrace (Debian, Ubuntu), dnf install bpftrace (Fedora, RHEL), or zypper or apk"
_TRACING: Final = Path("/sys/kernel/tracing")
_OTHER_TRACING: Final = Path("/sys/kernel/debug/tracing")
_LOCKDOWN: Final = Path("/sys/kernel/security/lockdown")
_MOUNT: Final = f'mount -t tracefs tracefs {_TRACING} && exec "$@"'
_MOUNTED: Final = ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", _MOUNT, "sh"]
_VERSION_WITHIN_S: Final = 10.0
_ENDS_WITHIN_S: Final = 5.0
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
# Keys per map: in each second, iterations of 0.2 ms or longer add one per worker, call, descriptor and address.
_ENVIRONMENT: Final = {"BPFTRACE_MAP_KEYS_MAX": "16384", "BPFTRACE_STRLEN": "120"}
_TAIL_LINES: Final = 5
# bpftrace prints this if it cannot raise the limit itself, even if everything works.
_MEMLOCK: Final = "RLIMIT_MEMLOCK"
_NO_MAPS: Final = ("failed to create map", "required BPF maps has failed")
_LOADING: Final = re.compile(r"\bbpf\b|Error loading program", re.IGNORECASE)
_NOT_PERMITTED: Final = "Operation not permitted"
# Since Linux 5.11, the cgroup's memory limit counts for maps instead.
_NO_MEMLOCK_SINCE: Final = (5, 11)
_CAP_SYS_ADMIN: Final = 21
# The sum of memlock in all maps' /proc/PID/fdinfo is 33 MiB on two CPUs; 2 MiB of it depend on their number. The
# rest is rounded up.
_MAPS_BYTES: Final = 32 << 20
_MAPS_PER_CPU_BYTES: Final = 1 << 20
_NO_MEMORY: Final = "Cannot allocate memory"


def architecture() -> Architecture:
    """Return the system calls of this machine's architecture (CannotRunHereError: they are unknown)."""
    try:
        return ARCHITECTURES[platform.machine()]
    except KeyError:
        raise CannotRunHereError(
            f"The system call numbers of {platform.machine()} are not included.",
            remedy=f"use a machine with one of these architectures: {', '.join(ARCHITECTURES)}",
        ) from None


def check_host() -> None:
    """Check the requirements before anything starts. CannotRunHereError: One is missing; the error names the remedy."""
    if os.geteuid():
        raise CannotRunHereError(
            "Watching needs root.", remedy="use sudo; or watch from outside, without root: watch URL"
        )
    if not shutil.which("bpftrace"):
        raise CannotRunHereError("bpftrace is not installed.", remedy=_PACKAGE)
    command = ["bpftrace", "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRunHereError(f"bpftrace does not start: {error}", remedy=_PACKAGE) from error
    version = re.search(r"(\d+)\.(\d+)", done.stdout)
    if version is None:
        raise CannotRunHereError("bpftrace --version reports no version.", remedy=_PACKAGE, tail=done.stderr)
    if (int(version[1]), int(version[2])) < _LEAST_VERSION:
        least = ".".join(map(str, _LEAST_VERSION))
        raise CannotRunHereError(
            f"bpftrace is too old: {done.stdout.strip()}; {least} or later is needed.", remedy=_PACKAGE
        )
    if _LOCKDOWN.exists() and "[confidentiality]" in _LOCKDOWN.read_text(encoding="ascii"):
        raise CannotRunHereError(
            "The kernel is locked down (confidentiality): BPF programs can read nothing.",
            where=str(_LOCKDOWN),
            remedy="boot with lockdown=integrity; or watch from outside: watch URL",
        )


class Tracer:
    """A bpftrace process that runs one program."""

    def __init__(self, program: str) -> None:
        prefix = [] if _has_events(_TRACING) or _has_events(_OTHER_TRACING) else _MOUNTED
        self._process = subprocess.Popen(
            [*prefix, "bpftrace", "-f", "json", "-B", "line", "-e", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,  # Ctrl-C goes only to this process, which reads bpftrace's last lines
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - it needs no lock that another thread may hold
        )
        self.pid = self._process.pid
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._memlock = ""
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def line(self, timeout_s: float) -> str | None:
        """Return the next line; None if none arrives in time. CannotRunHereError: bpftrace has ended."""
        try:
            return self._lines.get(timeout=timeout_s)
        except queue.Empty:
            if self._process.poll() is not None and self._lines.empty():
                raise self._ended() from None
            return None

    def finish(self) -> Iterator[str]:
        """Ask bpftrace to end, and yield its last lines: buffered output, and all maps."""
        self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN_S)
        self._readers[0].join(_ENDS_WITHIN_S)
        while not self._lines.empty():
            yield self._lines.get()

    def close(self) -> None:
        """End bpftrace, and with it its programs and maps."""
        self._process.kill()
        self._process.wait(_ENDS_WITHIN_S)
        for reader in self._readers:
            reader.join(_ENDS_WITHIN_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)

    def _read_errors(self) -> None:
        for line in self._process.stderr or ():
            if _MEMLOCK in line:
                self._memlock = line
            else:
                self._errors = [*self._errors, line][-_TAIL_LINES:]

    def _ended(self) -> CannotRunHereError:
        self._readers[1].join(_ENDS_WITHIN_S)
        tail = "".join(self._errors)
        if "tracepoint not found" in tail or "mount" in tail:
            return CannotRunHereError(
                "The kernel does not offer system-call tracepoints.",
                where=str(_TRACING),
                remedy=f"use a kernel with CONFIG_FTRACE_SYSCALLS, and mount -t tracefs tracefs {_TRACING}",
                tail=tail,
            )
        if any(words in tail for words in _NO_MAPS):
            return _no_maps(tail, self._memlock)
        if _NOT_PERMITTED in tail or _LOADING.search(tail):
            return _refused(tail)
        return CannotRunHereError(f"bpftrace ended with status {self._process.returncode}.", tail=tail)


def _no_maps(tail: str, memlock: str) -> CannotRunHereError:
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if memlock and _NOT_PERMITTED in tail and _kernel() < _NO_MEMLOCK_SINCE and _is_administrator():
        return CannotRunHereError(
            f"The limit of locked memory is too low for BPF maps: {size(limit_bytes)} (RLIMIT_MEMLOCK), and bpftrace "
            "may not raise it.",
            remedy="ulimit -l unlimited; systemd: LimitMEMLOCK=infinity; a container: --ulimit memlock=-1",
            tail=memlock + tail,
        )
    if _NO_MEMORY in tail:
        needed = size(_MAPS_BYTES + (os.cpu_count() or 1) * _MAPS_PER_CPU_BYTES)
        return CannotRunHereError(
            "Too little memory for BPF maps.", remedy=f"{needed} more in memory.max of this cgroup", tail=tail
        )
    return _refused(tail)


def _refused(tail: str) -> CannotRunHereError:
    return CannotRunHereError(
        "The kernel refuses BPF programs.",
        remedy="run this on the host as root, or in a container with CAP_SYS_ADMIN",
        tail=tail,
    )


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


def _is_administrator() -> bool:
    fields = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", fields, re.MULTILINE)
    return bool(found and int(found[1], 16) >> _CAP_SYS_ADMIN & 1)


def check_namespace(tracer: Tracer, seen_as: int) -> None:
    """Compare bpftrace's process id here with the one in its program (BadInputError: they differ)."""
    if seen_as != tracer.pid:
        raise BadInputError(
            "This is a container with its own PID namespace, so the kernel has other process ids.",
            remedy="watch on the host, or start the container with --pid=host",
        )


def _die_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def _has_events(tracing: Path) -> bool:
    return (tracing / "events").is_dir()
