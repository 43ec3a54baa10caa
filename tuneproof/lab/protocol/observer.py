"""What an observer beside nginx is asked, and what it sees. images/netadmin/netadmin/observer.py answers.

Times are CLOCK_MONOTONIC seconds (clock_gettime(2)) of the machine that the containers run on: compare them with each
other, not with the clock of the machine that asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.messages import Done, Question
from tuneproof.lab.protocol.turns import Turns


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Sysctls and listening sockets of one network namespace, and its machine.

    Attributes:
        sysctls: Values by name, single spaces between the parts; None for those that this kernel does not show there.
        listener_backlogs: Backlog of every listening TCP socket, by port: one entry per socket.
        cpu_model: The machine's first CPU, from /proc/cpuinfo.
        cpus: The CPUs that the container may run on, and which of the machine's belong together.
    """

    sysctls: Mapping[str, str | None]
    listener_backlogs: Mapping[int, tuple[int, ...]]
    cpu_model: str
    cpus: Cpus

    def triple(self, name: str) -> tuple[int, int, int]:
        """Return a sysctl of three integers, such as net.ipv4.tcp_rmem (bytes)."""
        low, default, high = (int(part) for part in (self.sysctls[name] or "").split())
        return low, default, high


@dataclass(frozen=True, kw_only=True)
class CounterTexts:
    """The kernel's counters as it prints them (proc_pid_net(5)).

    Attributes:
        counters: /proc/net/netstat, then /proc/net/snmp: those of the network namespace.
        softnet: /proc/net/softnet_stat: what each CPU did with received packets, on the whole machine.
        at_s: When they were read.
    """

    counters: str
    softnet: str
    at_s: float


@dataclass(frozen=True, kw_only=True)
class ReadCounters(Question[CounterTexts]):
    """Read the kernel's counters."""


@dataclass(frozen=True, kw_only=True)
class Sysctl:
    """A sysctl of the network namespace.

    Attributes:
        value: None where the kernel has none of that name there.
    """

    value: str | None


@dataclass(frozen=True, kw_only=True)
class ReadSysctl(Question[Sysctl]):
    """Read a sysctl.

    Attributes:
        name: Such as "net.core.somaxconn".
    """

    name: str


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What an engineer would have printed.

    Attributes:
        text: It.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class Print(Question[Printed]):
    """Print something as an engineer would.

    Attributes:
        what: "counters", the files that nstat(8) reads; "sockets", by ss(8); or "processes", nginx's status files
            (proc_pid_status(5)).
    """

    what: str


@dataclass(frozen=True, kw_only=True)
class ProcessTexts:
    """One process as the kernel shows it (proc(5)).

    Attributes:
        pid: Its id in nginx's PID namespace.
        status: /proc/PID/status.
        schedstat: /proc/PID/schedstat, of its main thread.
        io: /proc/PID/io.
    """

    pid: int
    status: str
    schedstat: str
    io: str


@dataclass(frozen=True, kw_only=True)
class WorkerTexts:
    """nginx's workers, in ascending order of process id.

    Attributes:
        workers: Those that have not ended.
        at_s: When they were read.
    """

    workers: tuple[ProcessTexts, ...]
    at_s: float


@dataclass(frozen=True, kw_only=True)
class ReadWorkers(Question[WorkerTexts]):
    """Read the figures of nginx's workers."""


@dataclass(frozen=True, kw_only=True)
class ListenerFigures:
    """One listening socket (sock_diag(7)).

    Attributes:
        queued: Connections that wait for accept(2).
        backlog: How many may.
    """

    queued: int
    backlog: int


@dataclass(frozen=True, kw_only=True)
class SocketCounts:
    """TCP sockets of the subject's network namespace, around a port that it listens on.

    Attributes:
        listeners: Those that listen on the port.
        local: Number of sockets with this local port by state, listeners included. States are the kernel's numbers
            (include/net/tcp_states.h). Connections that wait for accept(2) are established already.
        others: Likewise for all other sockets: among them the connections to the upstream.
        send_queue_bytes: What established sockets with this local port were given to send and the client has not
            acknowledged yet, on its way or not (tcp_diag_get_info in net/ipv4/tcp_diag.c).
        unread_bytes: Of every other established socket, what has arrived and was not read: of an upstream connection,
            what nginx leaves there.
    """

    listeners: tuple[ListenerFigures, ...]
    local: Mapping[int, int]
    others: Mapping[int, int]
    send_queue_bytes: int
    unread_bytes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ReadSockets(Question[SocketCounts]):
    """Count the sockets around a port that nginx listens on.

    Attributes:
        port: The port.
    """

    port: int


@dataclass(frozen=True, kw_only=True)
class WatchSample:
    """One sample of a watch.

    Attributes:
        at_s: When it was taken.
        rss_bytes: Memory in RAM of each worker, in ascending order of process id.
        queued: Connections that waited for accept(2) on the port, all of its listeners together.
    """

    at_s: float
    rss_bytes: tuple[int, ...]
    queued: int


@dataclass(frozen=True, kw_only=True)
class StartWatch(Question[Done]):
    """Sample the workers' memory and the port's queues from now on.

    Attributes:
        port: Port that nginx listens on.
        interval_s: Time from one sample to the next.
    """

    port: int
    interval_s: float


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A watch that has ended.

    Attributes:
        samples: At least one, in order of time.
    """

    samples: tuple[WatchSample, ...]


@dataclass(frozen=True, kw_only=True)
class EndWatch(Question[Watched]):
    """End the watch."""


@dataclass(frozen=True, kw_only=True)
class ReadTurns(Question[Turns]):
    """Wait for a time to pass; tell what the workers did in the turns of their event loops that overlapped it.

    Attributes:
        start_s: Its start; one that has passed already means now.
        end_s: Its end.
    """

    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class Calls:
    """System calls of one name, or what two readings differ by.

    Attributes:
        made: How many.
        failed: How many of them failed, those that would have had to wait (EAGAIN) among them.
        moved_bytes: What they read or wrote; 0 for calls that do neither.
    """

    made: int = 0
    failed: int = 0
    moved_bytes: int = 0

    def since(self, earlier: Self) -> Self:
        """Return what was added since an earlier reading."""
        return type(self)(
            made=self.made - earlier.made,
            failed=self.failed - earlier.failed,
            moved_bytes=self.moved_bytes - earlier.moved_bytes,
        )

    def plus(self, other: Self) -> Self:
        """Return these and others."""
        return type(self)(
            made=self.made + other.made,
            failed=self.failed + other.failed,
            moved_bytes=self.moved_bytes + other.moved_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class CallsMade:
    """System calls of all workers together, since their start.

    Attributes:
        calls: By name.
    """

    calls: Mapping[str, Calls]


@dataclass(frozen=True, kw_only=True)
class ReadCalls(Question[CallsMade]):
    """Count the workers' system calls."""


@dataclass(frozen=True, kw_only=True)
class Signal(Question[Done]):
    """Send a signal to nginx; its own user may, without any capability (kill(2)).

    Attributes:
        name: The signal's name without SIG: STOP, CONT, HUP (https://nginx.org/en/docs/control.html).
        to: "workers" or "master".
    """

    name: str
    to: str
