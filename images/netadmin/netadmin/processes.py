"""nginx's processes, as proc(5) shows them to a process of their own user in their PID namespace."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

# How nginx titles them (src/os/unix/ngx_process_cycle.c); behind that a worker may say that it is shutting down.
WORKER: Final = "nginx: worker process"
MASTER: Final = "nginx: master process"
PROC: Final = Path("/proc")

_NS_PER_S: Final = 1_000_000_000
_BYTES_PER_KIB: Final = 1024


class ProcessFileError(ValueError):
    """A file of /proc is not in the format that is known."""


@dataclass(frozen=True, kw_only=True)
class ProcessFigures:
    """One process at one moment. What is counted, is counted since its start.

    Attributes:
        pid: Its id in this PID namespace.
        rss_bytes: Memory in RAM. The kernel's number may be off by some pages per CPU.
        rss_anon_bytes: The anonymous part of it: no file's pages, no shared memory.
        voluntary_switches: How often its main thread gave up the CPU by itself, mostly to wait for events.
        nonvoluntary_switches: How often it was made to.
        run_s: CPU time of its main thread; thread pools are not in it.
        wait_s: Time in which that thread could have run, but waited on a run queue
            (https://docs.kernel.org/scheduler/sched-stats.html).
        write_bytes: What it dirtied on file systems, all threads together; pages of a tmpfs are never written anywhere
            and do not count (proc_pid_io(5)).
    """

    pid: int
    rss_bytes: int
    rss_anon_bytes: int
    voluntary_switches: int
    nonvoluntary_switches: int
    run_s: float
    wait_s: float
    write_bytes: int

    @classmethod
    def from_text(cls, pid: int, *, status: str, schedstat: str, io: str) -> Self | None:
        """Build from the content of the files of these names; None for a process that has ended.

        Raises:
            ProcessFileError: One of them is not in the format that is known.
        """
        of_status, of_io = _fields(status), _fields(io)
        # A zombie still has its files, but no memory any more.
        if "VmRSS" not in of_status:
            return None
        try:
            run_ns, wait_ns, _ = schedstat.split()
            return cls(
                pid=pid,
                rss_bytes=_bytes(of_status["VmRSS"]),
                rss_anon_bytes=_bytes(of_status["RssAnon"]),
                voluntary_switches=int(of_status["voluntary_ctxt_switches"]),
                nonvoluntary_switches=int(of_status["nonvoluntary_ctxt_switches"]),
                run_s=int(run_ns) / _NS_PER_S,
                wait_s=int(wait_ns) / _NS_PER_S,
                write_bytes=int(of_io["write_bytes"]),
            )
        except KeyError as error:
            raise ProcessFileError(f"process {pid}: its files in /proc have no line {error}") from error
        except ValueError as error:
            raise ProcessFileError(f"process {pid}: its files in /proc have another format: {error}") from error


def pids(title: str, *, proc: Path = PROC) -> list[int]:
    """Return the processes whose command line begins so, in ascending order."""
    return sorted(int(folder.name) for folder in proc.glob("[0-9]*") if _command_line(folder).startswith(title))


def figures(title: str, *, proc: Path = PROC) -> list[ProcessFigures]:
    """Return the figures of these processes, in ascending order of process id; one that ends meanwhile is left out.

    Raises:
        OSError: They belong to another user, or this kernel does not count what is asked for.
        ProcessFileError: It writes it in another format.
    """
    found = (_figures(pid, proc / str(pid)) for pid in pids(title, proc=proc))
    return [process for process in found if process is not None]


def rss_bytes(title: str, *, proc: Path = PROC) -> list[int]:
    """Return only the memory in RAM of these processes, in the same order; one that ends meanwhile is left out.

    Raises:
        OSError: They cannot be read.
        ValueError: This kernel writes it in another format.
    """
    texts = (_read(proc / str(pid), "status") for pid in pids(title, proc=proc))
    sizes = (_fields(text).get("VmRSS") for text in texts if text is not None)
    return [_bytes(size) for size in sizes if size is not None]


def _figures(pid: int, folder: Path) -> ProcessFigures | None:
    status, schedstat, io = (_read(folder, name) for name in ("status", "schedstat", "io"))
    if status is None or schedstat is None or io is None:
        return None
    return ProcessFigures.from_text(pid, status=status, schedstat=schedstat, io=io)


def _command_line(folder: Path) -> str:
    """Return the command line up to its first zero byte: nginx fills with zeros what its title leaves over."""
    return (_read(folder, "cmdline") or "").partition("\0")[0]


def _read(folder: Path, name: str) -> str | None:
    """Return a file's content; None when its process has ended."""
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        # A process that is still there lacks the file because this kernel does not count such things.
        if folder.exists():
            raise
        return None
    except PermissionError:
        # One that is ending has lost its memory, and with it its command line and whatever allowed others to look.
        if _command_line(folder):
            raise
        return None


def _fields(text: str) -> Mapping[str, str]:
    """Both status and io have a name, a colon and a value in every line."""
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}


def _bytes(size: str) -> int:
    """Return the bytes of a size such as "1656 kB", which counts in units of 1024 bytes."""
    number, unit = size.split()
    if unit != "kB":
        raise ValueError(f"a size in {unit}")
    return int(number) * _BYTES_PER_KIB
