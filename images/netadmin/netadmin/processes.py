"""nginx's processes, as proc(5) shows them to a process of their own user in their PID namespace."""

import resource
from pathlib import Path
from typing import Final

from tuneproof.lab.protocol.observer import ProcessTexts

# nginx's process titles (src/os/unix/ngx_process_cycle.c); a worker may add that it is shutting down.
WORKER: Final = "nginx: worker process"
MASTER: Final = "nginx: master process"
PROC: Final = Path("/proc")


def pids(title: str, *, proc: Path = PROC) -> list[int]:
    """Return the ids of the processes whose command line begins with this, in ascending order."""
    return sorted(int(folder.name) for folder in proc.glob("[0-9]*") if _command_line(folder).startswith(title))


def texts(title: str, *, proc: Path = PROC) -> tuple[ProcessTexts, ...]:
    """Return the kernel's files about these processes, in ascending order of process id, without ended ones."""
    found = (_texts(pid, proc / str(pid)) for pid in pids(title, proc=proc))
    return tuple(process for process in found if process is not None)


def rss_bytes(title: str, *, proc: Path = PROC) -> list[int]:
    """Return only the resident memory of these processes, in the same order, without those that have ended."""
    contents = (_read(proc / str(pid), "statm") for pid in pids(title, proc=proc))
    pages = [int(text.partition(" ")[2].partition(" ")[0]) for text in contents if text is not None]
    # A zombie still has its files, but no memory any more.
    return [count * resource.getpagesize() for count in pages if count]


def waits_for_signals(status: str) -> bool:
    """Return whether a master has nothing left to do: it blocks its signals except while it waits for one.

    status: its /proc/PID/status (proc_pid_status(5)); ngx_master_process_cycle() in src/os/unix/ngx_process_cycle.c.
    """
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return not any(int(fields[mask], 16) for mask in ("SigBlk", "SigPnd", "ShdPnd"))


def _texts(pid: int, folder: Path) -> ProcessTexts | None:
    # The title is read first: if it announces the worker's exit, the status is from after that.
    title = _command_line(folder)
    status, schedstat, io = (_read(folder, name) for name in ("status", "schedstat", "io"))
    if status is None or schedstat is None or io is None:
        return None
    return ProcessTexts(pid=pid, title=title, status=status, schedstat=schedstat, io=io)


def _command_line(folder: Path) -> str:
    """Return the command line up to its first zero byte: nginx fills the space after its title with zeros."""
    return (_read(folder, "cmdline") or "").partition("\0")[0]


def _read(folder: Path, name: str) -> str | None:
    """Return a file's content; None if its process has ended."""
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        # A running process has no such file: the kernel does not provide it.
        if folder.exists():
            raise
        return None
    except PermissionError:
        # A process that is ending has lost its memory, and with it its command line and the permission for others to
        # look.
        if _command_line(folder):
            raise
        return None
