"""The functions and values of an observer next to nginx; images/netadmin/netadmin/observer.py implements them.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)) of the machine with the containers: compare them with each other,
not with the caller's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, Self

from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.lasting import lasts
from tuneproof.lab.protocol.turns import Turns

LEAVING: Final = " is shutting down"
"""The end of the title of a worker that shuts down (ngx_worker_process_cycle() in src/os/unix/ngx_process_cycle.c)."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Sysctls and listening sockets of one network namespace, and its machine."""

    sysctls: Mapping[str, str | None]  # single spaces between the parts; None for those that this kernel lacks
    listener_backlogs: Mapping[int, tuple[int, ...]]  # every listening TCP socket's, by port
    cpu_model: str  # the machine's first CPU, from /proc/cpuinfo
    cpus: Cpus

    def triple(self, name: str) -> tuple[int, int, int]:
        """Return a sysctl of three integers, such as net.ipv4.tcp_rmem (bytes)."""
        low, default, high = (int(part) for part in (self.sysctls[name] or "").split())
        return low, default, high


@dataclass(frozen=True, kw_only=True)
class CounterTexts:
    """The kernel's counters as it prints them (proc_pid_net(5))."""

    counters: str  # /proc/net/netstat, then /proc/net/snmp, of the network namespace
    softnet: str  # /proc/net/softnet_stat: how each CPU handled received packets, on the whole machine
    at_s: float


@dataclass(frozen=True, kw_only=True)
class ProcessTexts:
    """One process as the kernel shows it: files of /proc/PID (proc(5))."""

    pid: int  # in nginx's PID namespace
    title: str  # set by nginx
    status: str
    schedstat: str  # its main thread's
    io: str


@dataclass(frozen=True, kw_only=True)
class WorkerTexts:
    """nginx's workers that have not ended, in ascending order of process id."""

    workers: tuple[ProcessTexts, ...]
    at_s: float


@dataclass(frozen=True, kw_only=True)
class ListenerFigures:
    """One listening socket (sock_diag(7))."""

    queued: int  # connections that wait for accept(2)
    backlog: int  # the limit for these


@dataclass(frozen=True, kw_only=True)
class SocketCounts:
    """TCP sockets of the subject's network namespace, at one of its listening ports."""

    listeners: tuple[ListenerFigures, ...]  # those that listen on the port
    local: Mapping[str, int]
    """Number of sockets with this local port by state, including listeners. States have ss(8)'s names: "ESTAB",
    "TIME-WAIT". Connections that wait for accept(2) are already established.
    """
    others: Mapping[str, int]  # likewise for all other sockets, including the connections to the upstream
    send_queue_bytes: int
    """For established sockets with this local port, the bytes that the client has not acknowledged yet, sent or not
    (tcp_diag_get_info in net/ipv4/tcp_diag.c).
    """
    unread_bytes: tuple[int, ...]
    """For every other established socket, bytes that have arrived and were not read: on an upstream connection, what
    nginx leaves there.
    """


@dataclass(frozen=True, kw_only=True)
class WatchSample:
    """One sample of a watch."""

    at_s: float
    rss_bytes: tuple[int, ...]  # resident memory of each worker, in ascending order of process id
    queued: int  # connections that waited for accept(2) on the port, of all its listeners together


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Counts of the system calls of one name, or the difference of two such counts."""

    made: int = 0
    failed: int = 0  # among them, including those that would have blocked (EAGAIN)

    def since(self, earlier: Self) -> Self:
        """Return what was added since an earlier reading."""
        return type(self)(made=self.made - earlier.made, failed=self.failed - earlier.failed)

    def plus(self, other: Self) -> Self:
        """Return the sum of these and others."""
        return type(self)(made=self.made + other.made, failed=self.failed + other.failed)


class Observer(Protocol):
    """``python3 -m netadmin.observer``, in the network and PID namespaces of a subject."""

    def counters(self) -> CounterTexts:
        """Read the kernel's counters."""

    def sysctl(self, name: str) -> str | None:
        """Return a sysctl of the network namespace, such as "net.core.somaxconn"; None if the kernel has none."""

    def printed(self, what: str) -> str:
        """Return "sockets", from ss(8), or "processes", nginx's status files (proc_pid_status(5))."""

    def workers(self) -> WorkerTexts:
        """Read the figures of nginx's workers; it is an error if there is no nginx."""

    def sockets(self, port: int) -> SocketCounts:
        """Count the sockets at a port that nginx listens on."""

    def watch(self, port: int) -> None:
        """Sample the workers' memory and the queues of nginx's port, every 50 ms from now until :meth:`watched`."""

    def watched(self) -> tuple[WatchSample, ...]:
        """End the watch; return its samples, at least one, in order of time."""

    @lasts(lambda start_s, end_s: end_s - start_s)
    def turns(self, start_s: float, end_s: float) -> Turns:
        """Wait for a period to pass; return the workers' records of the event loop iterations that overlapped it.

        A start in the past means now. It is an error if a worker does not record turns, or was replaced.
        """

    def calls(self) -> Mapping[str, Calls]:
        """Count the system calls of all workers since their start, by name; it is an error if one keeps no count."""

    def signal(self, name: str, to: str) -> None:
        """Send a signal to nginx; its own user may do that without any capability (kill(2)).

        ``name``: without SIG, such as KILL or one of https://nginx.org/en/docs/control.html; ``to``: "workers", those
        of them that are "leaving", or the "master", the older one of two. Processes that have ended are skipped.
        """

    def masters_wait(self) -> bool:
        """Return whether every master has handled all signals sent to it."""
