"""The actions and counts that a counting trial can use.

Most actions wait until all responses have arrived. If a time limit expires first, or a precondition fails, they raise
:class:`VoidTrialError`; :meth:`Rig.before` also raises it on a machine so slow that a timer of nginx or the kernel
would expire during the trial.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tuneproof.errors import LabError
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.stage import HTTP3, Stage
from tuneproof.lab.load.trial_nginx import CallCounts, Read, TrialNginx
from tuneproof.lab.load.waiting import PATIENCE_S, VoidTrialError
from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Step, Streams
from tuneproof.lab.protocol.http3 import Http3
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.scripted import Scripted
from tuneproof.lab.protocol.standin import Standin
from tuneproof.lab.subject.written_config import TLS_PORT
from tuneproof.lab.topology.program import Answered, Call, recorded_by
from tuneproof.lab.topology.roles import Role

_MOST_CLIENTS: Final = 64
# The default of client_header_timeout, send_timeout and proxy_read_timeout; the keepalive timeouts are not shorter.
_ENDED_AFTER_S: Final = 60.0
_ENDS: Final = "nginx closes silent connections"


@dataclass(frozen=True, kw_only=True)
class ClientCall:
    """A call to the client, and its response."""

    function: str
    asked: Mapping[str, Any]
    answer: object


class Rig(TrialNginx):
    """The actions of a trial on its nginx, which has one of the subject's configurations, and on its clients."""

    def __init__(self, stage: Stage, *, configuration: str) -> None:
        super().__init__(stage, configuration=configuration)
        self.seen: list[ClientCall] = []  # the calls to the client so far, for the evidence
        self.measured_s = 0.0  # how long the client worked, or held connections
        self._streams_since_s: float | None = None

    @property
    def client(self) -> Loadgen:
        """The client's load generators; calls and responses are kept as evidence."""
        return recorded_by(self._keep, self._stage.client)

    @property
    def http3(self) -> Http3:
        """The HTTP/3 clients; calls and responses are kept as evidence, too."""
        return recorded_by(self._keep, self._stage.programs.of(HTTP3, Http3))

    @property
    def tls_endpoint(self) -> tuple[str, int]:
        """IPv4 address and port where the subject serves TLS and HTTP/3."""
        return self.at(TLS_PORT)

    def at(self, port: int = 0) -> tuple[str, int]:
        """Return the subject's IPv4 address with a port (default: the subject's)."""
        return self._stage.address, port or self._stage.port

    def backend(self, name: str = "backend") -> Scripted:
        """Return a scripted backend."""
        return self._stage.programs.of(name, Scripted)

    def standin(self, name: str) -> Standin:
        """Return a stand-in for a user's own backend."""
        return self._stage.programs.of(name, Standin)

    def _keep(self, call: Call, answered: Answered[Any]) -> None:
        self.measured_s += answered.took_s
        self.seen.append(ClientCall(function=call.function, asked=call.arguments, answer=answered.answer))

    def must(self, is_so: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as a sentence
        """Make the trial void, with this reason, unless a precondition is met (VoidTrialError)."""
        if not is_so:
            raise VoidTrialError(otherwise)

    @contextmanager
    def before(self, ends_s: float, what: str, *, since_s: float | None = None) -> Iterator[None]:
        """Make the trial void unless the block ends before a timer of nginx or the kernel expires.

        what: the effect of the timer, which the trial would count instead of what it measures.
        since_s: when the timer started, by time.monotonic(); default: the block's beginning.
        """
        began_s = time.monotonic() if since_s is None else since_s
        yield
        took_s = time.monotonic() - began_s
        self.must(took_s < ends_s, f"the trial took {took_s:.1f} s, and after {ends_s:g} s {what}")

    def ok(self, connections: Iterable[Connection], *, requests: int) -> int:
        """Make the trial void unless this many requests got a complete 200; return their number."""
        answered = sum(answer.status == 200 and answer.complete for answer in answers_of(connections))  # noqa: PLR2004
        self.must(answered == requests, f"{answered} of {requests} requests got a complete 200")
        return answered

    def flows(self, *flows: Flow, port: int = 0) -> list[tuple[Connection, ...]]:
        """Run flows at once (default: to the subject's port); return the results of each flow's connections.

        Raises VoidTrialError: a client timed out before its response was complete.
        """
        return self._in_time(flows, self.client.flows(*self.at(port), flows, self._sources(flows)))

    def flow(self, flow: Flow, *, port: int = 0) -> tuple[Connection, ...]:
        """Run one flow; return the results of its connections."""
        return self.flows(flow, port=port)[0]

    @contextmanager
    def standing(self, *flows: Flow, port: int = 0) -> Iterator[list[tuple[Connection, ...]]]:
        """Run flows, some of which stay open, until the end of the block; the list then contains the results.

        The block begins once all connections that stay are open and all other flows have ended.
        """
        results: list[tuple[Connection, ...]] = []
        with self.before(_ENDED_AFTER_S, _ENDS):
            self.client.start_flows(*self.at(port), flows, self._sources(flows))
            stood_s = time.monotonic()
            try:
                yield results
            finally:
                self.measured_s += time.monotonic() - stood_s
                results.extend(self._in_time(flows, self.client.end_flows()))

    def during(self, flow: Flow, read: Callable[[], Read], *, port: int = 0) -> tuple[Read, tuple[Connection, ...]]:
        """Run a flow; return the value that is read while it runs, and the results of its connections.

        ``read`` must not call the client, which responds only when the flow has ended.
        """
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self.flow, flow, port=port)
            found = read()
            return found, running.result()

    def _sources(self, flows: Sequence[Flow]) -> tuple[str, ...]:
        # Each job's connections come from new addresses, since nginx's limits are per client.
        most = min(sum(flow.connections for flow in flows), _MOST_CLIENTS)
        return tuple(itertools.islice(self._stage.clients, most))

    def _in_time(
        self, flows: Sequence[Flow], results: Sequence[tuple[Connection, ...]]
    ) -> list[tuple[Connection, ...]]:
        for flow, connections in zip(flows, results, strict=True):
            late = sum(connection.error == "TIMEOUT" for connection in connections)
            self.must(not late, f"{late} of {flow.connections} clients timed out after {flow.timeout_s:g} s")
        return list(results)

    def behind_stopped_workers(self, connections: int) -> CallCounts:
        """Let silent connections wait in the accept queue before any worker takes one.

        Returns:
            The workers' system calls until they had accepted all and were idle, in trials with ``counts_calls``.
        """
        before = self._stage.observer.calls()
        flow = Flow(connections=connections, requests=0, then=(Step.STAY,))
        with self.stopped_workers() as go_on, self.standing(flow):
            self.wait_until(lambda: self._queued() >= connections, f"did not queue {connections} connections")
            go_on()
            self.wait_until(lambda: not self._queued(), "did not accept all queued connections")
            return self._since(before)

    def queue_behind_stopped_workers(self, connects: int, *, port: int, listens_on: int) -> int:
        """Run a burst of connects while the workers are stopped; return how many the kernel queues.

        They are counted once each connect has been queued or dropped. The connects go to ``port``, and nginx listens
        on ``listens_on``.
        """
        before = self.counters()["TcpExt.ListenDrops"]
        flow = Flow(connections=connects, requests=0, timeout_s=PATIENCE_S)

        def all_have_arrived() -> bool:
            dropped = self.counters()["TcpExt.ListenDrops"] - before
            return self._queued(listens_on) + dropped >= connects

        with ThreadPoolExecutor(max_workers=1) as pool:
            with self.stopped_workers():
                running = pool.submit(self.flow, flow, port=port)
                self.wait_until(all_have_arrived, f"did not queue or drop {connects} connects")
                queued = self._queued(listens_on)
            running.result()
        return queued

    def flows_behind_stopped_workers(
        self, *flows: Flow, then: Callable[[], object] = lambda: None
    ) -> list[tuple[Connection, ...]]:
        """Stop the workers until all requests are queued and ``then`` was called, so that one loop iteration gets all.

        The listening socket must be ``deferred``, so that a connection is queued with its request. The workers handle
        the requests before they notice the effect of ``then``.
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

    def fresh_port(self, ports: Sequence[int]) -> int:
        """Return the first of these ports on which the subject has no socket in TIME-WAIT from an earlier trial.

        Raises LabError: all are in use.
        """
        for port in ports:
            if not self.sockets(port).local.get("TIME-WAIT", 0):
                return port
        raise LabError(f"all ports from {ports[0]} on are in use by sockets of earlier trials")

    def backends(self) -> list[str]:
        """Return the names of the backends that the subject can reach: over the network, or on localhost."""
        return [
            one.spec.name
            for one in self._stage.lab.containers()
            if one.spec.role is Role.BACKEND and one.spec.joins in {"", self._stage.subject_name}
        ]

    def address(self, name: str) -> str:
        """Return the IPv4 address of a backend."""
        return self._stage.addresses[name]

    def resolve_by(self, name: str) -> None:
        """Make the subject's system resolve names with a scripted backend's DNS server (resolv.conf(5))."""
        line = f"nameserver {self.address(name)}"
        self._stage.subject.run(["sh", "-c", f"echo {line} >/etc/resolv.conf"], user="root")

    def open_streams(self, *asked: Streams, port: int = 0) -> None:
        """Request more responses that stay open."""
        if self._streams_since_s is None:
            self._streams_since_s = time.monotonic()
        self.client.open_streams(*self.at(port), asked)

    def arrived(self) -> tuple[Arrived, ...]:
        """Return how much of each response of :meth:`open_streams` has arrived so far."""
        return self.client.arrived()

    def leave_streams(self) -> None:
        """Close the connections of :meth:`open_streams`, and forget their responses."""
        since_s, self._streams_since_s = self._streams_since_s, None
        with self.before(_ENDED_AFTER_S, _ENDS, since_s=since_s):
            self.client.leave_streams()

    def wait(self, seconds: float) -> None:
        """Wait while a timer of nginx or the kernel runs."""
        time.sleep(seconds)
