"""What a counting trial may do with its nginx and around it.

Each step waits until it is complete: all responses have arrived, no worker has anything left to do, a number no longer
changes. If a time limit expires first, or a precondition fails, it raises :class:`VoidTrialError`; so does a trial on a
machine so slow that a timer of nginx or the kernel would expire within it: :meth:`Rig.before`.
"""

import itertools
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tuneproof.errors import LabError
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.fresh_workers import start_fresh_workers
from tuneproof.lab.load.observer import SocketFigures, WorkerFigures
from tuneproof.lab.load.stage import HTTP3, Stage
from tuneproof.lab.load.waiting import PATIENCE_S, VoidTrialError
from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Streams, TlsConnection
from tuneproof.lab.protocol.http3 import Http3
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.observer import Calls
from tuneproof.lab.protocol.scripted import Scripted
from tuneproof.lab.protocol.standin import Standin
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.subject.config import ACCESS_LOG_PATH, ERROR_LOG_PATH
from tuneproof.lab.subject.supervisor import Said, configuration_path
from tuneproof.lab.subject.written_config import TLS_PORT
from tuneproof.lab.topology.program import Answered, Call, heard_by
from tuneproof.lab.topology.roles import Role

_PAUSE_S: Final = 0.01
_BETWEEN_READINGS_S: Final = 0.05
_SAME_READINGS: Final = 8
_MOST_CLIENTS: Final = 64
# client_header_timeout, send_timeout, proxy_read_timeout; idle connections are kept for 60 s and longer.
_ENDED_AFTER_S: Final = 60.0
_ENDS: Final = "nginx closes silent connections"

Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class Told:
    """The calls of the client, and its responses."""

    function: str
    asked: Mapping[str, Any]
    answer: object


class Rig:
    """What a trial may do with its nginx, which has one of the subject's configurations."""

    def __init__(self, stage: Stage, *, configuration: str) -> None:
        self._stage = stage
        self._configuration = configuration
        self.seen: list[Told] = []  # the client's reports so far, for the evidence
        self.measured_s = 0.0  # how long the client worked
        self._streams_since_s: float | None = None

    @property
    def client(self) -> Loadgen:
        """The client's load generators; what they do is kept as evidence."""
        return heard_by(self._keep, self._stage.client)

    @property
    def http3(self) -> Http3:
        """The clients for HTTP/3, likewise."""
        return heard_by(self._keep, self._stage.programs.of(HTTP3, Http3))

    @property
    def tls_endpoint(self) -> tuple[str, int]:
        """IPv4 address and port where the subject serves TLS and HTTP/3."""
        return self._stage.address, TLS_PORT

    def backend(self, name: str = "backend") -> Scripted:
        """Return a scripted backend."""
        return self._stage.programs.of(name, Scripted)

    def standin(self, name: str) -> Standin:
        """Return a stand-in for a user's own backend."""
        return self._stage.programs.of(name, Standin)

    def _keep(self, call: Call, answered: Answered[Any]) -> None:
        self.measured_s += answered.took_s
        self.seen.append(Told(function=call.function, asked=call.arguments, answer=answered.answer))

    def must(self, is_so: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as a sentence
        """Make the trial void unless a precondition of what it counts is met.

        Raises VoidTrialError: it is not, for this reason.
        """
        if not is_so:
            raise VoidTrialError(otherwise)

    @contextmanager
    def before(self, ends_s: float, what: str, *, since_s: float | None = None) -> Iterator[None]:
        """Make the trial void unless the block ends before a timer of nginx or the kernel expires.

        what: what happens then; the trial would count that instead.
        since_s: when the timer started, by time.monotonic(); default: the block's beginning.
        """
        began_s = time.monotonic() if since_s is None else since_s
        yield
        took_s = time.monotonic() - began_s
        self.must(took_s < ends_s, f"this took {took_s:.1f} s, and after {ends_s:g} s {what}")

    def ok(self, connections: Iterable[Connection], *, requests: int) -> int:
        """Return how many requests got a 200; the trial is void unless all did."""
        answered = sum(answer.status == 200 and answer.complete for answer in answers_of(connections))  # noqa: PLR2004
        self.must(answered == requests, f"{answered} of {requests} requests got a complete 200")
        return answered

    def flows(self, *flows: Flow, port: int = 0) -> list[tuple[Connection, ...]]:
        """Run flows at once (default: to the subject's port); return what happened to the connections of each.

        Raises VoidTrialError: a client timed out before it had its response.
        """
        became = self.client.flows(self._stage.address, port or self._stage.port, flows, self._sources(flows))
        return self._in_time(flows, became)

    def flow(self, flow: Flow, *, port: int = 0) -> tuple[Connection, ...]:
        """Run one flow in the same way."""
        return self.flows(flow, port=port)[0]

    @contextmanager
    def standing(self, *flows: Flow, port: int = 0) -> Iterator[list[tuple[Connection, ...]]]:
        """Run flows, some of which stay open, until the end of the block; the list has the results then.

        The block begins once all connections that stay are open and the other flows have ended.
        """
        became: list[tuple[Connection, ...]] = []
        began_s = time.monotonic()
        with self.before(_ENDED_AFTER_S, _ENDS):
            self.client.stand(self._stage.address, port or self._stage.port, flows, self._sources(flows))
            try:
                yield became
            finally:
                became.extend(self._in_time(flows, self.client.end_flows()))
                self.measured_s += time.monotonic() - began_s

    def during(self, flow: Flow, read: Callable[[], Read], *, port: int = 0) -> tuple[Read, tuple[Connection, ...]]:
        """Run a flow; return what is read while it runs, and what happened to its connections.

        ``read`` must not call the client, which responds at the flow's end.
        """
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self.flow, flow, port=port)
            found = read()
            return found, running.result()

    def _sources(self, flows: Sequence[Flow]) -> tuple[str, ...]:
        # Each job's connections come from new addresses, since nginx's limits are per client.
        most = min(sum(flow.connections for flow in flows), _MOST_CLIENTS)
        return tuple(itertools.islice(self._stage.clients, most))

    def _in_time(self, flows: Sequence[Flow], became: Sequence[tuple[Connection, ...]]) -> list[tuple[Connection, ...]]:
        for flow, connections in zip(flows, became, strict=True):
            late = sum(connection.error == "TIMEOUT" for connection in connections)
            self.must(not late, f"{late} of {flow.connections} clients waited {flow.timeout_s:g} s without success")
        return list(became)

    def behind_stopped_workers(self, connections: int) -> "CallCounts":
        """Let silent connections wait in the accept queue before any worker takes one.

        Returns:
            The workers' system calls until the queue was empty, in trials with ``counts_calls``.
        """
        before = self._stage.observer.calls()
        flow = Flow(connections=connections, requests=0, stays=True)
        with self.stopped_workers() as go_on, self.standing(flow):
            self.wait_until(lambda: self._queued() >= connections, f"did not queue {connections} of them")
            go_on()
            self.wait_until(lambda: not self._queued(), "did not accept what was queued")
            return self._since(before)

    def queue_behind_stopped_workers(self, connects: int, *, port: int, listens_on: int) -> int:
        """Run a burst of connects while the workers are stopped; return how many the kernel queues.

        Each is queued or dropped by then. The connects go to ``port``, nginx listens on ``listens_on``.
        """
        before = self.counters()["TcpExt.ListenDrops"]
        flow = Flow(connections=connects, requests=0, timeout_s=PATIENCE_S)

        def all_have_come() -> bool:
            dropped = self.counters()["TcpExt.ListenDrops"] - before
            return self._queued(listens_on) + dropped >= connects

        with ThreadPoolExecutor(max_workers=1) as pool:
            with self.stopped_workers():
                running = pool.submit(self.flow, flow, port=port)
                self.wait_until(all_have_come, f"neither queued nor dropped {connects} connects")
                queued = self._queued(listens_on)
            running.result()
        return queued

    def flows_behind_stopped_workers(
        self, *flows: Flow, then: Callable[[], object] = lambda: None
    ) -> list[tuple[Connection, ...]]:
        """Run flows that the workers meet in one iteration of their event loops, after something was done.

        The listening socket must be ``deferred``, so that a connection is queued with its request. The workers notice
        what is done while they are stopped after the requests.
        """
        connections = sum(flow.connections for flow in flows)
        with ThreadPoolExecutor(max_workers=1) as pool:
            with self.stopped_workers():
                running = pool.submit(self.flows, *flows)
                self.wait_until(lambda: self._queued() >= connections, f"did not queue {connections} requests")
                then()
            return running.result()

    def _queued(self, port: int = 0) -> int:
        return sum(listener.queued for listener in self.sockets(port).listeners)

    def _since(self, before: Mapping[str, Calls]) -> "CallCounts":
        self.rest()
        return CallCounts({name: calls.since(before[name]) for name, calls in self._stage.observer.calls().items()})

    def rest(self) -> None:
        """Wait until the workers have nothing left to do: all sleep, and none has run since the last reading."""
        before: list[float] = []

        def is_idle() -> bool:
            nonlocal before
            workers = self.workers()
            earlier, before = before, [worker.run_s for worker in workers]
            return earlier == before and all(worker.is_asleep for worker in workers)

        self.wait_until(is_idle, "did not become idle")

    def steady(self, read: Callable[[], Read]) -> Read:
        """Return what is read once it has not changed for a while in which no worker had anything to do."""
        now, same = read(), 0

        def stays() -> bool:
            nonlocal now, same
            before, now = now, read()
            same = same + 1 if now == before and all(worker.is_asleep for worker in self.workers()) else 0
            return same >= _SAME_READINGS

        self._stage.wait_until(
            stays, f"nginx container {self._stage.subject_name} did not become idle", pause_s=_BETWEEN_READINGS_S
        )
        return now

    def fresh_port(self, ports: Sequence[int]) -> int:
        """Return the first of these ports of the subject without a socket in TIME-WAIT from an earlier trial.

        Raises LabError: there is none.
        """
        for port in ports:
            if not self.sockets(port).local.get("TIME-WAIT", 0):
                return port
        raise LabError(f"all ports from {ports[0]} on are in use by sockets of earlier trials")

    def tls_connect(self, count: int, *, port: int, path: str = "/", version: str = "") -> Sequence[TlsConnection]:
        """Make TLS connections, each with a request, and keep their sessions instead of those kept before."""
        return self.client.tls_connect(self._stage.address, port, count, path, version)

    def tls_resume(self, which: Sequence[int], *, port: int, path: str = "/") -> Sequence[TlsConnection]:
        """Resume the sessions of some of those connections, by their numbers."""
        return self.client.tls_resume(self._stage.address, port, tuple(which), path)

    def http2(self, streams: int, *, port: int, path: str = "/") -> Sequence[int]:
        """Send that many requests at once on one HTTP/2 connection; return the statuses, 0 for none."""
        return self.client.http2(self._stage.address, port, streams, path)

    def backends(self) -> list[str]:
        """Return the names of the backends that the subject can reach: the lab's, and those on its own machine."""
        return [
            one.spec.name
            for one in self._stage.lab.containers()
            if one.spec.role is Role.BACKEND and one.spec.joins in {"", self._stage.subject_name}
        ]

    def address(self, name: str) -> str:
        """Return the IPv4 address of a backend."""
        return self._stage.addresses[name]

    def resolve_by(self, name: str) -> None:
        """Make the subject's system resolve names at a scripted backend (resolv.conf(5))."""
        line = f"nameserver {self.address(name)}"
        self._stage.subject.run(["sh", "-c", f"echo {line} >/etc/resolv.conf"], user="root")

    def open_streams(self, *asked: Streams, port: int = 0) -> None:
        """Request further responses that stay open."""
        if self._streams_since_s is None:
            self._streams_since_s = time.monotonic()
        self.client.open_streams(self._stage.address, port or self._stage.port, asked)

    def arrived(self) -> tuple[Arrived, ...]:
        """Return what has arrived of each of them so far."""
        return self.client.arrived()

    def leave_streams(self) -> None:
        """Close their connections, and forget them."""
        since_s, self._streams_since_s = self._streams_since_s, None
        with self.before(_ENDED_AFTER_S, _ENDS, since_s=since_s):
            self.client.leave_streams()

    def counters(self) -> Mapping[str, int]:
        """Return the kernel's counters of the subject's network namespace."""
        return self._stage.counters().counters

    def online_cpus(self) -> int:
        """Return how many CPUs the subject's machine has, whether or not the subject may use them."""
        return len(self._stage.counters().softnet)

    def kernel_has(self, sysctl: str) -> bool:
        """Tell whether the subject's network namespace has a sysctl of this name."""
        return self.sysctl(sysctl) is not None

    def sysctl(self, name: str) -> str | None:
        """Return a sysctl of the subject's network namespace; None if it has none of that name."""
        return self._stage.observer.sysctl(name)

    def sockets(self, port: int = 0) -> SocketFigures:
        """Count the subject's sockets by their state, around a port (default: the subject's)."""
        return self._stage.sockets(port)

    def workers(self) -> tuple[WorkerFigures, ...]:
        """Read the workers' figures."""
        return self._stage.workers()

    def calls(self, work: Callable[[], object]) -> "CallCounts":
        """Return the workers' system calls while something was done, and then until they have nothing left to do.

        For trials with ``counts_calls``.
        """
        self.rest()
        before = self._stage.observer.calls()
        work()
        return self._since(before)

    def access_log(self) -> list[dict[str, str]]:
        """Return the lines of the log ``counted`` (see :mod:`tuneproof.lab.subject.written_config`)."""
        return [json.loads(line) for line in self._log(ACCESS_LOG_PATH).splitlines()]

    def logged(self, requests: int) -> list[dict[str, str]]:
        """Wait until that log has this many lines, and return all: nginx logs a request after its response."""
        lines: list[dict[str, str]] = []

        def has_them() -> bool:
            nonlocal lines
            lines = self.access_log()
            return len(lines) >= requests

        self.wait_until(has_them, f"did not log {requests} requests")
        return lines

    def error_log(self) -> str:
        """Return the error log."""
        return self._log(ERROR_LOG_PATH)

    def _log(self, path: str) -> str:
        # The program that starts nginx also reads its logs; an nginx that runs as long as the lab has no such program.
        if self._configuration:
            return self._stage.supervisor.read(path.rpartition("/")[2])
        return self._stage.subject.fetch(path).decode("utf-8", errors="replace")

    def test(self) -> Said:
        """Return what ``nginx -t`` says of the configuration, for trials that do not start it."""
        return self._stage.supervisor.test(self._configuration)

    def write(self, name: str, size_bytes: int) -> None:
        """Write a file to the folder of files that change."""
        self._stage.supervisor.write(name, size_bytes)

    def run(self, *command: str) -> str:
        """Run a command in nginx's container as nginx's user, and return what it prints (LabError: it fails)."""
        return self._stage.subject.run(command).decode("utf-8", errors="replace")

    def fresh_workers(self) -> None:
        """Replace all workers by new ones."""
        start_fresh_workers(self._stage)

    def signal(self, name: str) -> None:
        """Send nginx's master (of two, the older one) a signal, and wait until it has handled it."""
        self._stage.observer.signal(name, "master")
        self.until_master_waits(f"did not handle {name}")

    def until_master_waits(self, otherwise: str = "did not start all its workers") -> None:
        """Wait until nginx's master has nothing left to do."""
        self.wait_until(self._stage.observer.masters_wait, otherwise)

    def kill_workers(self, name: str) -> None:
        """Send nginx's workers a signal that ends them, and wait until the master has replaced them."""
        old = {worker.pid for worker in self.workers()}
        self._stage.observer.signal(name, "workers")
        self.wait_until(lambda: self._are_others(old), f"did not replace its workers after {name}")

    def _are_others(self, old: Collection[int]) -> bool:
        try:
            new = {worker.pid for worker in self.workers()}
        except LabError:
            return False  # there is none between two workers
        return bool(new) and not new & set(old)

    def start_another(self) -> str:
        """Start a second nginx with the same configuration; return why it does not start, empty if it does."""
        path = configuration_path(self._configuration)
        try:
            self._stage.subject.run(["nginx", "-c", path])
        except LabError as error:
            return error.tail
        return ""

    def until_they_leave(self, pids: Collection[int]) -> None:
        """Wait until these workers have exited, or will when their connections close."""

        def leave() -> bool:
            # It closes idle connections in the same loop iteration in which it changes its title.
            return all(worker.is_leaving and worker.is_asleep for worker in self.workers() if worker.pid in pids)

        self.wait_until(leave, "did not let its old workers go")

    def until_they_are_gone(self, pids: Collection[int]) -> None:
        """Wait until none of these workers is left."""
        self.wait_until(
            lambda: not {worker.pid for worker in self.workers()} & set(pids), "did not end its old workers"
        )

    def stopped_workers(self) -> AbstractContextManager[Callable[[], None]]:
        """Stop the workers during a block; see :meth:`Stage.stopped_workers`."""
        return self._stage.stopped_workers()

    def edit(self, expression: str) -> None:
        """Change nginx's configuration by sed(1), for the next reload; the expression has no space in it."""
        self._stage.supervisor.edit(expression)

    def turns(self, seconds: float) -> Turns:
        """Return the workers' loop iterations from now on, for this long."""
        now_s = self._stage.counters().at_s
        return self._stage.observer.turns(now_s, now_s + seconds)

    def wait(self, seconds: float) -> None:
        """Wait for something that nginx or the kernel does after a time."""
        time.sleep(seconds)

    def settle(self, workers: int) -> None:
        """Wait until there are this many workers."""
        self.wait_until(lambda: self._has_workers(workers), f"did not start {workers} workers")

    def _has_workers(self, number: int) -> bool:
        try:
            return len(self.workers()) >= number
        except LabError:
            # The started program has gone to the background, but has not set its title yet.
            return False

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        """Wait until a condition is true; ``what`` says what the subject did not do in time.

        Raises VoidTrialError: it is not true in time; with the end of nginx's error log.
        """
        try:
            self._stage.wait_until(
                done, f"nginx container {self._stage.subject_name} {what}", within_s=PATIENCE_S, pause_s=_PAUSE_S
            )
        except VoidTrialError as error:
            raise VoidTrialError(error.what, tail=self.error_log()) from error


class CallCounts:
    """System calls by name."""

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._calls = calls

    def __getitem__(self, name: str) -> Calls:
        return self._calls[name]

    def made(self, *names: str) -> int:
        """Return how many calls of these names were made; of all if no name is given."""
        return sum(self._calls[name].made for name in names or self._calls)
