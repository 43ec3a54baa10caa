"""Finds nginx's workers by their titles and parents, even in containers, and what their descriptors refer to."""

import ipaddress
import re
import shutil
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.watch.program import ACCEPTED, CLOSED
from tuneproof.wording import one_line

PROC: Final = Path("/proc")
# The title of a process begins with the program's name (ngx_setproctitle): openresty and tengine keep "nginx", angie
# has its own name.
_MASTER: Final = re.compile(r"\S+: master process\b")
_WORKER: Final = re.compile(r"\S+: worker process\b")
_EPOLL: Final = "anon_inode:[eventpoll]"
_CONTAINER: Final = re.compile(r"[0-9a-f]{64}")
_SHORT_ID: Final = 12
_ENGINES: Final = ("docker", "podman", "nerdctl")
_ASKING_S: Final = 10.0
_LISTED: Final = 8


@dataclass(frozen=True, kw_only=True, order=True)
class Worker:
    """One process with an event loop."""

    pid: int
    name: str  # name or short id of the container, or name of the program


def find(wanted: str = "", *, every: bool = False) -> tuple[Worker, ...]:
    """Return the workers of an nginx, including those that are shutting down.

    Args:
        wanted: A process id (of a master, a worker, or any program with an event loop) or a container's name or id;
            empty: the only nginx that runs.
        every: Whether to return the workers of every nginx on this machine.

    BadInputError: There is no such nginx, or there are several to choose from. CannotRunHereError: A container is
    named, but there is no engine's command to look it up, or an engine does not answer.
    """
    masters = {pid for pid in _pids() if _MASTER.match(_title(pid))}
    if wanted and not wanted.isdecimal():
        namespace = _namespace(_container(wanted), "pid")
        masters = {pid for pid in masters if _namespace(pid, "pid") == namespace}
        name = wanted[:_SHORT_ID] if _CONTAINER.fullmatch(wanted) else wanted
        return _named(_workers_of(masters), name) or _none(f"The container {wanted} runs no nginx.")
    if wanted:
        pid = int(wanted)
        if not (PROC / wanted).is_dir():
            _none(f"There is no process {pid}.")
        if pid in masters:
            found = _workers_of(_with_upgrades({pid}, masters))
            return _named(found) or _none(f"The master process {pid} has no workers.")
        if not _WORKER.match(_title(pid)) and _EPOLL not in _links(PROC / wanted / "fd", None).values():
            _none(f"The process {pid} ({_name(pid)}) has no event loop: none of its descriptors is for epoll.")
        return _named([pid])
    first = {pid for pid in masters if _parent(pid) not in masters}
    if len(first) > 1 and not every:
        listed = ", ".join(f"{pid} ({_name(pid)})" for pid in sorted(first)[:_LISTED])
        listed += f" and {len(first) - _LISTED} more" if len(first) > _LISTED else ""
        raise BadInputError(f"Several nginx run here: {listed}.", remedy="name a PID or a container, or use --all")
    return _named(_workers_of(masters)) or _none("No nginx was found.")


def _with_upgrades(chosen: set[int], masters: set[int]) -> set[int]:
    """Add the masters that a binary upgrade (SIGUSR2) started: children of the chosen masters."""
    return chosen | {pid for pid in masters if _parent(pid) in chosen}


def _none(what: str) -> tuple[Worker, ...]:
    raise BadInputError(
        what, remedy="start nginx, or name a PID or a container; in a container, only its own processes are visible"
    )


def _named(pids: list[int], name: str = "") -> tuple[Worker, ...]:
    return tuple(Worker(pid=pid, name=name or _name(pid)) for pid in sorted(pids))


def _workers_of(masters: set[int]) -> list[int]:
    return [pid for pid in _pids() if _WORKER.match(_title(pid)) and _parent(pid) in masters]


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())


def _title(pid: int) -> str:
    return _read(pid, "cmdline").split("\0")[0]


def _parent(pid: int) -> int:
    # The command's name is in parentheses, and may contain any character.
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _namespace(pid: int, kind: str) -> str:
    try:
        return str((PROC / str(pid) / "ns" / kind).readlink())
    except OSError:
        return ""


def _name(pid: int) -> str:
    found = _CONTAINER.search(_read(pid, "cgroup"))
    # A process chooses its own name, which may contain a terminal's control sequences.
    return found[0][:_SHORT_ID] if found else one_line(_read(pid, "comm"))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(pid: int, name: str) -> str:
    """Return a process's file; empty if it cannot be read, as after the process has ended."""
    try:
        return (PROC / str(pid) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _container(name: str) -> int:
    engines = [engine for engine in _ENGINES if shutil.which(engine)]
    if not engines:
        raise CannotRunHereError(
            f"No command on this machine can look up the container {name} ({', '.join(_ENGINES)}).",
            remedy="name the process id of its nginx master instead",
        )
    for engine in engines:
        try:
            inspected = subprocess.run(
                [engine, "inspect", "--format", "{{.State.Pid}}", "--", name],
                capture_output=True,
                text=True,
                timeout=_ASKING_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CannotRunHereError(f"{engine} does not answer within {_ASKING_S:g} s.") from None
        if inspected.returncode == 0 and inspected.stdout.strip() not in {"", "0"}:
            return int(inspected.stdout)
    raise BadInputError(
        f"There is no running container {name}.",
        where=", ".join(engines),
        remedy=f"name a container that runs, or a PID; for a URL, write http://{name.removesuffix('/')}/",
    )


@dataclass(frozen=True, kw_only=True)
class Doing:
    """The activity of a process."""

    state: str  # a letter of proc_pid_stat(5); empty if it has ended
    call: int | None  # the system call in which it sleeps, if any
    on: int  # the call's first argument


def doing(pid: int) -> Doing:
    """Return what a process is doing now."""
    fields = _read(pid, "syscall").split()
    sleeps = len(fields) > 1 and fields[0].isdecimal()
    return Doing(
        state=_read(pid, "stat").rpartition(")")[2].strip()[:1],
        call=int(fields[0]) if sleeps else None,
        on=int(fields[1], 16) if sleeps else 0,
    )


def is_there(worker: Worker) -> bool:
    """Return whether a worker's process exists."""
    return (PROC / str(worker.pid)).is_dir()


def moved(pid: int) -> tuple[int, int]:
    """Return how often a process has read and written, and how many bytes (proc_pid_io(5)); recv(2) does not count."""
    fields = {name: int(value) for name, value in (line.split(": ") for line in _read(pid, "io").splitlines())}
    return fields.get("syscr", 0) + fields.get("syscw", 0), fields.get("rchar", 0) + fields.get("wchar", 0)


_WITHOUT_ACCEPTED: Final = 0xFFFF_FFFF_FFFF_FFFF & ~ACCEPTED
_SOCKETS: Final = ("client ", "upstream ", "socket:")
_SOCKET: Final = re.compile(r"socket:\[(\d+)\]")
_LISTENS: Final = "0A"


Descriptors = Mapping[int, dict[int, str]]
"""What descriptors refer to, by process id and number."""


def targets(wanted: Mapping[int, set[int] | None]) -> Descriptors:
    """Return what processes' descriptors refer to, without those closed by now.

    A TCP socket is a client's if something in the process's network namespace listens on its local port; otherwise, it
    is an upstream's. The sockets of a namespace are read once for all of its processes, since they may be many.

    Args:
        wanted: Descriptors by process id; None stands for all of them.
    """
    links = {pid: _links(PROC / str(pid) / "fd", descriptors) for pid, descriptors in wanted.items()}
    spaces: dict[str, list[int]] = defaultdict(list)
    for pid in wanted:
        spaces[_namespace(pid, "net")].append(pid)
    found: dict[int, dict[int, str]] = {}
    for pids in spaces.values():
        inodes = {each[1] for pid in pids for link in links[pid].values() if (each := _SOCKET.fullmatch(link))}
        peers = _peers(PROC / str(pids[0]) / "net", inodes) if inodes else {}
        for pid in pids:
            found[pid] = {number: peers.get(link, link) for number, link in links[pid].items()}
    return found


def _links(folder: Path, descriptors: set[int] | None) -> dict[int, str]:
    links: dict[int, str] = {}
    for number in [int(each.name) for each in _listed(folder)] if descriptors is None else descriptors:
        with suppress(OSError):
            links[number] = str((folder / str(number)).readlink())
    return links


def _peers(net: Path, inodes: set[str]) -> dict[str, str]:
    """Return the peers of sockets by their links; /proc/net/tcp has addresses in hex, in the machine's byte order."""
    ports: set[str] = set()
    found: dict[str, tuple[str, str]] = {}
    for table in ("tcp", "tcp6"):
        try:
            lines = (net / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            local, remote, state, inode = fields[1], fields[2], fields[3], fields[9]
            if state == _LISTENS:
                ports.add(local.rpartition(":")[2])
            elif inode in inodes:
                found[inode] = (local.rpartition(":")[2], remote)
    return {
        f"socket:[{inode}]": f"{'client' if port in ports else 'upstream'} {address(remote)}"
        for inode, (port, remote) in found.items()
    }


def peer(sockaddr: int, now: str) -> str:
    """Return what a descriptor referred to, from the address of accept4 or connect; empty for none.

    Args:
        sockaddr: The first eight bytes of a struct sockaddr, or what the program has put in their place. For IPv4, they
            contain the address and the port (ip(7)), for IPv6 only the port (ipv6(7)).
        now: What the descriptor refers to now, which may still be the same.
    """
    if sockaddr == CLOSED:
        return "" if now.startswith(_SOCKETS) else now
    # bpftrace prints keys of maps as signed numbers.
    packed = (sockaddr & _WITHOUT_ACCEPTED).to_bytes(8, "little")
    family, port = int.from_bytes(packed[:2], "little"), int.from_bytes(packed[2:4])
    kind = "client" if sockaddr & ACCEPTED else "upstream"
    if family == socket.AF_UNIX:
        return f"{kind} unix:"
    if family == socket.AF_INET:
        return f"{kind} {ipaddress.IPv4Address(packed[4:])}:{port}"
    return now if now.startswith(kind) and now.endswith(f":{port}") else f"{kind} [?]:{port}"


def address(text: str) -> str:
    """Return an address from /proc/net/tcp or tcp6 in the usual notation."""
    host, _, port = text.rpartition(":")
    words = [bytes.fromhex(host[at : at + 8]) for at in range(0, len(host), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(packed)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    shown = mapped or found
    return f"[{shown}]:{int(port, 16)}" if shown.version == 6 else f"{shown}:{int(port, 16)}"  # noqa: PLR2004 - IPv6
