"""A wire: a user-mode Linux kernel, as an ordinary process, between two TAP links of this network namespace.

It is for hosts without netem in their own kernel. See the kernel's Documentation/virt/uml/user_mode_linux_howto_v2.rst
for the arguments ("vector" network transports, host file system as root, serial lines on file descriptors).
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .links import ASIDE, WIRE_LINK

KERNEL: Final = "linux.uml"
TUN: Final = Path("/dev/net/tun")
# The kernel's memory is a file there, and must be mappable with PROT_EXEC: the container mounts a tmpfs without noexec.
MEMORY_FOLDER: Final = Path("/wire")
LOG: Final = Path("/var/log/wire.log")
# Loaded into the kernel: see images/netadmin/xstate/xstate.c.
REGISTERS_LIBRARY: Final = "/usr/lib/tuneproof/xstate.so"
# By default, 3 of the kernel's 64 MiB are free, and a first burst of frames uses them up. Its network driver does not
# survive that: without memory, a frame is read into a buffer that was never allocated, which looks like an error of the
# link, and no more frames pass (vector_legacy_rx and drop_buffer in arch/um/drivers/vector_kern.c, Linux 6.1).
# Unused memory costs the machine nothing: it is a sparse file.
MEMORY_MIB: Final = 128
# Only a kernel that hangs reaches this limit: at a load of 14 on two CPUs, the start took 7 s. A kernel that ends is
# noticed at once.
_READY_WITHIN_S: Final = 50.0
_ANSWER_WITHIN_S: Final = 10.0
_ARGUMENTS: Final = (
    f"mem={MEMORY_MIB}M",
    # The container's own files, read-only: they include Python and pyroute2.
    *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
    "init=/usr/bin/python3",
    # gro=1 makes the buffers large enough for frames of 64 KiB; nothing is merged, see guest.py.
    f"vec0:transport=tap,ifname={ASIDE},depth=32,gro=1",
    f"vec1:transport=tap,ifname={WIRE_LINK},depth=32,gro=1",
    # The first serial line carries the calls; the console (kernel messages) goes to the log.
    *("ssl0=fd:0,fd:1", "ssl=null", "con0=null,fd:2", "con=null"),
    # Benchmarks of checksums, self-tests of ciphers, and calibrating delay loops take a second; nothing needs them.
    "initcall_blacklist=raid6_select_algo,calibrate_xor_blocks,init_zswap",
    "cryptomgr.notests",
    "lpj=10000000",
    # Small tables: by default, the machine's memory determines their sizes.
    *("dhash_entries=1024", "ihash_entries=1024", "thash_entries=256", "uhash_entries=256"),
    *("apparmor=0", "audit=0"),
    # A kernel that panics must end, so that its end is noticed.
    "panic=-1",
    *("--", "-B", "/opt/netadmin/wire_init.py"),
)


class WireError(Exception):
    """The wire cannot be started, or has ended."""


class Wire:
    """A running wire. :meth:`start` starts it; killing its process ends it."""

    def __init__(self) -> None:
        self._kernel: subprocess.Popen[bytes] | None = None
        self._through = False

    def start(self) -> float:
        """Start the kernel, and add missing links; return the seconds that this took (WireError: it cannot start)."""
        if reason := why_impossible():
            raise WireError(reason)
        began_s = time.monotonic()
        self.stop()
        # The kernel finds its links by the names that they have before frames pass through them.
        self.lead_through(through=False)
        with LOG.open("ab") as log:
            self._kernel = subprocess.Popen(
                [KERNEL, *_ARGUMENTS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={
                    **os.environ,
                    "TMPDIR": str(MEMORY_FOLDER),
                    "HOME": str(MEMORY_FOLDER),
                    "LD_PRELOAD": REGISTERS_LIBRARY,
                },
            )
        _plumb("lay")
        self._listen(_READY_WITHIN_S)
        self._send({"join": True})
        self._listen(_READY_WITHIN_S)
        return time.monotonic() - began_s

    def lead_through(self, *, through: bool) -> None:
        """Let the role's frames go through the wire, or bypass it."""
        if through != self._through:
            _plumb("through" if through else "past")
            self._through = through

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Call the process inside; see guest.py (WireError: the wire has ended, or the call failed)."""
        self._send(question)
        answer = self._listen(_ANSWER_WITHIN_S)
        if "error" in answer:
            raise WireError(f"inside the wire: {answer['error']}")
        return answer

    @property
    def alive(self) -> bool:
        """Whether its kernel runs."""
        return self._kernel is not None and self._kernel.poll() is None

    def stop(self) -> None:
        """End the kernel, if it runs."""
        if self._kernel is not None:
            _kill(self._kernel)
            self._kernel.communicate()
            self._kernel = None

    def _send(self, question: Mapping[str, Any]) -> None:
        kernel = self._living()
        try:
            kernel.stdin.write(json.dumps(question).encode() + b"\n")  # type: ignore[union-attr] # a pipe
            kernel.stdin.flush()  # type: ignore[union-attr] # a pipe
        except BrokenPipeError as error:
            raise WireError(self._end()) from error

    def _listen(self, within_s: float) -> dict[str, Any]:
        """Return the next line that is a response; before the console exists, the kernel prints to the same place."""
        kernel = self._living()
        reader = kernel.stdout.fileno()  # type: ignore[union-attr] # a pipe
        deadline_s = time.monotonic() + within_s
        received = b""
        while True:
            remaining_s = deadline_s - time.monotonic()
            if remaining_s <= 0 or not select.select([reader], [], [], remaining_s)[0]:
                # A response that comes too late would be taken for that of the next call.
                _kill(kernel)
                raise WireError(f"the wire's kernel did not answer within {within_s:g} s")
            chunk = os.read(reader, 65536)
            if not chunk:
                raise WireError(self._end())
            received += chunk
            *lines, received = received.split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer

    def _living(self) -> "subprocess.Popen[bytes]":
        if self._kernel is None:
            raise WireError("the wire has not been started")
        return self._kernel

    def _end(self) -> str:
        kernel = self._living()
        return f"the wire's kernel ended with status {kernel.wait()}"


def _kill(kernel: "subprocess.Popen[bytes]") -> None:
    """Kill a kernel with its helpers, which would otherwise keep its pipes open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(kernel.pid, signal.SIGKILL)


def _plumb(how: str) -> None:
    from . import plumbing, rtnetlink  # noqa: PLC0415 - rtnetlink takes 11 MiB, and most agents start no wire

    try:
        plumbing.plumb(how)
    except rtnetlink.NetlinkError as error:
        raise WireError(f"the wire's links cannot be changed: {error}") from error


def why_impossible() -> str:
    """Return why this container cannot run a wire; empty if it can."""
    if not any(Path(folder, KERNEL).exists() for folder in os.environ["PATH"].split(":")):
        return f"the image has no {KERNEL}: no such package for this architecture"
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as error:
        return f"{TUN} cannot be opened ({error.strerror})"
    if not MEMORY_FOLDER.is_mount():
        return f"no file system is mounted at {MEMORY_FOLDER}"
    return ""
