"""What a trial that counts may do with its nginx and around it."""

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tuneproof.errors import LabError
from tuneproof.lab.load.fresh_workers import start_fresh_workers
from tuneproof.lab.load.observer import SocketFigures, WorkerFigures
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.protocol.exchanges import Connection, Flow, TlsConnection
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.messages import Call, call
from tuneproof.lab.protocol.observer import Calls
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.subject.config import ACCESS_LOG_PATH, ERROR_LOG_PATH
from tuneproof.lab.subject.supervisor import Said

_WITHIN_S: Final = 20.0
_PAUSE_S: Final = 0.01
_BETWEEN_READINGS_S: Final = 0.05
_SAME_READINGS: Final = 8
_MOST_CLIENTS: Final = 64

A = TypeVar("A")
Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the client was asked, and told."""

    function: str
    asked: Mapping[str, Any]
    answer: object


class Rig:
    """What a trial may do with its nginx and around it.

    Args:
        stage: The subject and what surrounds it.
        configuration: Name of its configuration.

    Attributes:
        seen: What the client told so far, for the evidence.
    """

    def __init__(self, stage: Stage, *, configuration: str) -> None:
        self._stage = stage
        self._configuration = configuration
        self.seen: list[Told] = []

    def flows(self, *flows: Flow, port: int = 0) -> list[tuple[Connection, ...]]:
        """Run flows at once; return what became of each one's connections.

        Args:
            *flows: The flows.
            port: The port (default: the subject's).
        """
        lasts_s = max(flow.timeout_s for flow in flows)
        # Each job's connections come from other addresses than the job's before: limits of nginx's are for each client.
        most = min(sum(flow.connections for flow in flows), _MOST_CLIENTS)
        sources = tuple(itertools.islice(self._stage.clients, most))
        asked = call(Loadgen.flows, self._stage.address, port or self._stage.port, flows, sources)
        answer = self._ask(asked, lasts_s=lasts_s)
        return list(answer)

    def flow(self, flow: Flow, *, port: int = 0) -> tuple[Connection, ...]:
        """Run one flow, likewise."""
        return self.flows(flow, port=port)[0]

    def during(self, *flows: Flow, read: Callable[[], Read], port: int = 0) -> Read:
        """Run flows at once, and return what is read while they run.

        Args:
            *flows: The flows.
            read: Waits for what there is to wait for and reads it. It must not ask the client, whose answer comes with
                the flows' end.
            port: The port (default: the subject's).
        """
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self.flows, *flows, port=port)
            found = read()
            running.result()
        return found

    def behind_stopped_workers(self, flow: Flow) -> tuple[tuple[Connection, ...], "CallCounts"]:
        """Run a flow whose connections all wait in the accept queue before any worker takes one.

        Returns:
            What became of them, and the system calls of the workers until the queue was empty. For trials with
            ``counts_calls``.
        """
        before = self._stage.observer.calls()
        self._stage.observer.stop_workers()
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self.flow, flow)
            try:
                self.wait_until(lambda: self._queued() >= flow.connections, f"did not queue {flow.connections} of them")
            finally:
                self._stage.observer.continue_workers()
            self.wait_until(lambda: not self._queued(), "did not accept what was queued")
            counts = self._since(before)
            return running.result(), counts

    def _queued(self, port: int = 0) -> int:
        return sum(listener.queued for listener in self.sockets(port).listeners)

    def _since(self, before: Mapping[str, Calls]) -> "CallCounts":
        return CallCounts({name: calls.since(before[name]) for name, calls in self._stage.observer.calls().items()})

    def fresh_port(self, ports: Sequence[int]) -> int:
        """Return the first of these ports of the subject's that no earlier trial has left a socket in TIME-WAIT on.

        Raises:
            LabError: There is none.
        """
        for port in ports:
            if not self.sockets(port).local.get("TIME-WAIT", 0):
                return port
        raise LabError(f"all ports from {ports[0]} on are in use by sockets of earlier trials")

    def tls_connect(self, count: int, *, port: int, path: str = "/", version: str = "") -> Sequence[TlsConnection]:
        """Make TLS connections, each with a request, and keep their sessions; those kept before are forgotten."""
        asked = call(Loadgen.tls_connect, self._stage.address, port, count, path, version)
        return self._ask(asked, lasts_s=count)

    def tls_resume(self, which: Sequence[int], *, port: int, path: str = "/") -> Sequence[TlsConnection]:
        """Go on with the sessions of some of those connections, by their numbers."""
        asked = call(Loadgen.tls_resume, self._stage.address, port, tuple(which), path)
        return self._ask(asked, lasts_s=len(which))

    def http2(self, streams: int, *, port: int, path: str = "/") -> Sequence[int]:
        """Ask so many times at once on one connection of HTTP/2; return the statuses, 0 for none."""
        return self._ask(call(Loadgen.http2, self._stage.address, port, streams, path))

    def counters(self) -> Mapping[str, int]:
        """Return the kernel's counters of the subject's network namespace."""
        return self._stage.observer.counters().counters

    def online_cpus(self) -> int:
        """Return how many CPUs the subject's machine has, whether or not the subject may use them."""
        return len(self._stage.observer.counters().softnet)

    def kernel_has(self, sysctl: str) -> bool:
        """Tell whether the kernel has a sysctl of this name in the subject's network namespace."""
        return self._stage.observer.sysctl(sysctl) is not None

    def sockets(self, port: int = 0) -> SocketFigures:
        """Count the subject's sockets by their state, around a port (default: the subject's)."""
        return self._stage.observer.sockets(port or self._stage.port)

    def workers(self) -> tuple[WorkerFigures, ...]:
        """Read the workers' figures."""
        return self._stage.observer.workers()

    def calls(self, work: Callable[[], object]) -> "CallCounts":
        """Return the system calls that the workers made while something was done, and after it until they rest.

        For trials with ``counts_calls``.
        """
        before = self._stage.observer.calls()
        work()
        return self._since(before)

    def access_log(self) -> list[dict[str, str]]:
        """Return the lines of the log ``counted`` (see :mod:`tuneproof.lab.subject.written_config`)."""
        text = self._stage.subject.fetch(ACCESS_LOG_PATH).decode("utf-8", errors="replace")
        return [json.loads(line) for line in text.splitlines()]

    def error_log(self) -> str:
        """Return the error log."""
        return self._stage.subject.fetch(ERROR_LOG_PATH).decode("utf-8", errors="replace")

    def test(self) -> Said:
        """Return what ``nginx -t`` says of the configuration, for trials that do not start it."""
        return self._stage.supervisor.test(self._configuration)

    def write(self, name: str, size_bytes: int) -> None:
        """Write a file in the folder of files that change."""
        self._stage.supervisor.write(name, size_bytes)

    def reload(self) -> None:
        """Reload, and wait until the new workers are there beside the old ones, or in their place."""
        old = {worker.pid for worker in self.workers()}
        self._stage.reload()
        self.wait_until(lambda: any(worker.pid not in old for worker in self.workers()), "did not start new workers")

    def fresh_workers(self) -> None:
        """Replace all workers by new ones."""
        start_fresh_workers(self._stage)

    def turns(self, seconds: float) -> Turns:
        """Return what the workers do in the turns of their event loops in the time that follows."""
        now_s = self._stage.observer.counters().at_s
        return self._stage.observer.turns(now_s, now_s + seconds)

    def queue_behind_stopped_workers(self, flow: Flow, *, port: int, listens_on: int) -> int:
        """Run a flow of connects while the workers stand still; return how many the kernel takes for them.

        Args:
            flow: The flow.
            port: The port that it connects to.
            listens_on: The port that nginx listens on.
        """
        self._stage.observer.stop_workers()
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self.flow, flow, port=port)
            try:
                queued = self._steady(lambda: self._queued(listens_on), running.done)
            finally:
                self._stage.observer.continue_workers()
            running.result()
        return queued

    def _steady(self, read: Callable[[], int], is_over: Callable[[], bool]) -> int:
        """Return a number once it is more than none and has been the same for a while."""
        now, same = read(), 0
        while same < _SAME_READINGS and not is_over():
            time.sleep(_BETWEEN_READINGS_S)
            before, now = now, read()
            same = same + 1 if now == before and now else 0
        return now

    def wait(self, seconds: float) -> None:
        """Let time pass, for what nginx or the kernel does after a time."""
        time.sleep(seconds)

    def settle(self, workers: int) -> None:
        """Wait until so many workers are there."""
        self.wait_until(lambda: self._has_workers(workers), f"did not start {workers} workers")

    def _has_workers(self, number: int) -> bool:
        try:
            return len(self.workers()) >= number
        except LabError:
            # What was started has gone to the background, and has not yet taken its own name there.
            return False

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        """Wait until something is so.

        Args:
            done: Tells whether it is.
            what: What the subject did not do if it never is, for the error.

        Raises:
            LabError: It is not within 20 seconds.
        """
        deadline_s = time.monotonic() + _WITHIN_S
        while not done():
            if time.monotonic() > deadline_s:
                raise LabError(f"subject {self._stage.subject_name} {what}", tail=self.error_log())
            time.sleep(_PAUSE_S)

    def _ask(self, asked: Call[A], *, lasts_s: float = 0.0) -> A:
        answer = self._stage.ask(asked, lasts_s=lasts_s)
        self.seen.append(Told(function=asked.function, asked=asked.arguments, answer=answer))
        return answer


class CallCounts:
    """System calls by name."""

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._calls = calls

    def __getitem__(self, name: str) -> Calls:
        return self._calls[name]

    def made(self, *names: str) -> int:
        """Return how many calls of these names were made; of all without a name."""
        return sum(self._calls[name].made for name in names or self._calls)
