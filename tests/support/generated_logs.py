"""Generated access logs with a known diagnosis.

A log results from simulated events: requests arrive, packets travel, servers answer, and a worker handles each event
when its event loop reaches it. Only then does the worker read the clock, as nginx does.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Final

from tests.support.log_truths import Truth
from tuneproof.explain.diagnosis.findings import Cause

_START_S: Final = 1_790_000_000
_LINES: Final = 6_000
_SHORTEST_S: Final = 30.0
_STALLS: Final = 40


@dataclass(kw_only=True)
class _Pauses:
    """Times in which a part of the system does nothing; its events wait until the end of the pause."""

    starts_s: list[float] = field(default_factory=list)
    ends_s: list[float] = field(default_factory=list)

    def after(self, at_s: float) -> float:
        index = bisect_right(self.starts_s, at_s) - 1
        return max(at_s, self.ends_s[index]) if index >= 0 else at_s

    @staticmethod
    def made(random: Random, until_s: float, length_s: float, share: float, *, in_a_row: int = 1) -> "_Pauses":
        """Return pauses of about this length that take this share of the time.

        ``in_a_row``: how many pauses follow each other directly, such as long iterations of an event loop.
        """
        pauses, at_s = _Pauses(), 0.0
        while at_s < until_s:
            at_s += random.expovariate(share / (1 - share) / length_s / in_a_row) + 0.001
            for _ in range(in_a_row):
                pauses.starts_s.append(at_s)
                at_s += length_s * random.uniform(0.8, 1.2)
                pauses.ends_s.append(at_s)
        return pauses


@dataclass(kw_only=True)
class _Upstream:
    address: str
    round_trip_s: float
    outages: _Pauses
    # The upstream's worker processes.
    processes: Sequence[_Pauses]


@dataclass(kw_only=True)
class _Worker:
    pid: int
    random: Random
    stalls: _Pauses
    machine: _Pauses
    reused_share: float
    upstreams: Sequence[_Upstream]

    def handles(self, at_s: float) -> float:
        """Return the time at which the worker handles an event that is ready at ``at_s``.

        The worker handles waiting events in one iteration or in several short ones.
        """
        later_s = self.stalls.after(self.machine.after(at_s))
        if later_s == at_s:
            return at_s
        return self.machine.after(later_s) + self.random.choice((0, 0, 0, 0.001, 0.002))


@dataclass(kw_only=True)
class _Entry:
    """The fields of one request's line so far."""

    read_s: float
    ended_s: float = 0.0
    worker: _Worker
    connection: int
    request: str = "GET /catalogue/item-1 HTTP/1.1"
    agent: str = "Mozilla/5.0"
    status: int = 200
    upstream: str = "-"
    times_s: Sequence[float | None] = (None, None, None)


def lines_of(truth: Truth) -> list[str]:
    """Return the lines of a log with these ingredients, in the order in which nginx writes them."""
    log = _Log(truth)
    return [log.line(entry) for entry in sorted(log.entries(), key=lambda entry: entry.ended_s)]


class _Log:
    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._random = random = Random(truth.seed + 1_000_000)  # noqa: S311 - reproducible
        self._has = truth.alternatives.__contains__
        stall_share = random.uniform(0.1, 0.6)
        self._until_s = max(_SHORTEST_S, _STALLS * truth.stall_s / stall_share)
        self._template = re.sub(r"\$(\w+)", r"{\1}", truth.log_format)
        self._connections = 0
        upstreams = [self._upstream(number) for number in range(random.randint(2, 4))]
        machine = self._pauses("frozen machine", longest_s=1.0, most=0.1)
        self._workers = []
        # A stall must delay enough new upstream connections, so not too many requests may reuse one.
        most_reused = 0.6 if truth.stall_s else 1.0
        for number in range(random.randint(max(2, truth.stalled), 4)):
            stalls = _Pauses.made(random, self._until_s, truth.stall_s or 1.0, stall_share, in_a_row=truth.in_a_row)
            self._workers.append(
                _Worker(
                    pid=100 + number,
                    random=random,
                    stalls=stalls if number < truth.stalled else _Pauses(),
                    machine=machine,
                    reused_share=random.uniform(0.0, most_reused) if self._has("reused connections") else 0.0,
                    upstreams=self._upstreams_of(number, upstreams),
                )
            )
        self._slow_s = random.uniform(0.2, 3.0) if Cause.BACKEND_SLOW in truth.causes else 0.0
        self._left_share = random.uniform(0.03, 0.2) if Cause.CLIENT_GONE in truth.causes else 0.0
        self._patience_s = random.uniform(0.1, 2.0) if self._has("impatient clients") else 1e9
        self._late_share, self._late_s = random.uniform(0.01, 0.4), random.uniform(0.02, 0.3)
        self._lost_share = random.uniform(0.005, 0.1)
        self._kinds: list[tuple[float, Callable[[_Entry], _Entry]]] = [
            (random.uniform(0.02, 0.3), make)
            for name, make in (
                ("upgraded connections", self._upgraded),
                ("long polls", self._poll),
                ("uploads", self._upload),
                ("health checks", self._check),
            )
            if self._has(name)
        ]

    def _upstream(self, number: int) -> _Upstream:
        random = self._random
        is_far = self._has("distant upstream") and random.random() < 0.5
        return _Upstream(
            address=f"10.0.{number}.1:8080",
            round_trip_s=random.uniform(0.0, 0.2) if is_far else random.uniform(0.0002, 0.003),
            outages=self._pauses("outages", longest_s=2.0, most=0.1),
            processes=[self._pauses("TLS to the upstream", longest_s=0.5, most=0.3) for _ in range(4)],
        )

    def _pauses(self, name: str, *, longest_s: float, most: float) -> _Pauses:
        random = self._random
        length_s, share = random.uniform(0.02, longest_s), random.uniform(0.01, most)
        return _Pauses.made(random, self._until_s + 60, length_s, share) if self._has(name) else _Pauses()

    def _upstreams_of(self, number: int, upstreams: Sequence[_Upstream]) -> Sequence[_Upstream]:
        if not self._has("an upstream for each worker"):
            return upstreams
        # More than nine in ten requests go to one server.
        return [*[upstreams[number % len(upstreams)]] * 9 * len(upstreams), *upstreams]

    def entries(self) -> Iterator[_Entry]:
        """Yield the requests in order of arrival."""
        random, at_s = self._random, 0.0
        rate_hz = _LINES / self._until_s
        while at_s < self._until_s:
            at_s += random.expovariate(rate_hz)
            worker = random.choice(self._workers)
            of_one = random.randint(2, 20) if self._has("bursts of one client") and random.random() < 0.05 else 1
            connection = self._connected()
            for _ in range(of_one):
                entry = _Entry(read_s=worker.handles(at_s), worker=worker, connection=connection)
                yield self._left(self._kind()(entry), at_s)

    def _connected(self) -> int:
        self._connections += 1
        return self._connections

    def _kind(self) -> Callable[[_Entry], _Entry]:
        for share, make in self._kinds:
            if self._random.random() < share:
                return make
        return self._page

    def _page(self, entry: _Entry) -> _Entry:
        number = self._random.randint(0, 400)
        entry.request = f"GET /{('catalogue', 'search', 'basket', 'help')[number % 4]}/item-{number} HTTP/1.1"
        took_s = self._random.expovariate(1 / 0.01) + (
            self._slow_s * self._random.uniform(0.5, 2) if self._slow_s else 0
        )
        return self._passed_on(entry, entry.read_s, took_s)

    def _passed_on(self, entry: _Entry, from_s: float, took_s: float, *, lasts_s: float = 0.0) -> _Entry:
        """Let the upstream answer.

        ``from_s``: when nginx connects. ``took_s``: the time that the backend takes, including the time in which it
        receives a request's body. ``lasts_s``: the time from the response's header to its end.
        """
        random, worker = self._random, entry.worker
        upstream = random.choice(worker.upstreams)
        process = random.choice(upstream.processes)
        connected_s = from_s
        if random.random() >= worker.reused_share:
            connected_s = worker.handles(self._travelled(from_s, upstream, is_new=True))
            if self._has("TLS to the upstream"):
                heard_s = process.after(self._travelled(connected_s, upstream) + random.expovariate(1 / 0.002))
                connected_s = worker.handles(heard_s)
        header_s = worker.handles(self._travelled(connected_s, upstream) + took_s)
        entry.ended_s = worker.handles(header_s + lasts_s)
        entry.upstream = upstream.address
        entry.times_s = [_ms(at_s) - _ms(from_s) for at_s in (connected_s, header_s, entry.ended_s)]
        return entry

    def _travelled(self, from_s: float, upstream: _Upstream, *, is_new: bool = False) -> float:
        """Return the time at which the answer to data sent at ``from_s`` arrives."""
        random = self._random
        at_s = upstream.outages.after(from_s + upstream.round_trip_s * random.uniform(1.0, 1.05))
        if self._has("late path") and random.random() < self._late_share:
            at_s += random.expovariate(1 / self._late_s)
        if is_new and self._has("lost SYNs") and random.random() < self._lost_share:
            at_s += 1.0
        return at_s

    def _upgraded(self, entry: _Entry) -> _Entry:
        entry.request, entry.status = "GET /socket HTTP/1.1", 101
        return self._passed_on(entry, entry.read_s, 0.001, lasts_s=self._random.expovariate(1 / 20))

    def _poll(self, entry: _Entry) -> _Entry:
        entry.request = f"GET /poll/{self._random.randint(1, 99)} HTTP/1.1"
        return self._passed_on(entry, entry.read_s, min(30.0, self._random.expovariate(1 / 15)))

    def _upload(self, entry: _Entry) -> _Entry:
        entry.request = "POST /upload HTTP/1.1"
        body_s = self._random.expovariate(1 / 2)
        if self._truth.seed % 2:  # proxy_request_buffering off
            return self._passed_on(entry, entry.read_s, body_s)
        return self._passed_on(entry, entry.worker.handles(entry.read_s + body_s), 0.01)

    def _check(self, entry: _Entry) -> _Entry:
        if self._random.random() < 0.5:
            entry.request, entry.agent, entry.status = "GET /healthz HTTP/1.1", "kube-probe/1.30", 499
            entry.ended_s = entry.worker.handles(entry.read_s + 0.0001)
            return entry
        entry.request, entry.agent = "GET /nginx_status HTTP/1.1", "curl/8.5"
        entry.ended_s = entry.read_s
        return entry

    def _left(self, entry: _Entry, at_s: float) -> _Entry:
        """Let some clients close their connection before the response ends."""
        leaves_s = at_s + self._patience_s
        if self._random.random() < self._left_share:
            leaves_s = at_s + self._random.uniform(0.0, 0.02)
        if entry.ended_s <= leaves_s or entry.status != 200:
            return entry
        ended_s = entry.worker.handles(max(entry.read_s, leaves_s))
        if ended_s >= entry.ended_s:
            return entry
        waited_s = _ms(ended_s) - _ms(entry.read_s)
        connect_s, header_s, _ = entry.times_s
        known = [None if each is None or each > waited_s else each for each in (connect_s, header_s)]
        times_s = (*known, waited_s) if entry.upstream != "-" else entry.times_s
        return replace(entry, status=499, ended_s=ended_s, times_s=times_s)

    def line(self, entry: _Entry) -> str:
        ended_s = _START_S + _ms(entry.ended_s)
        values = {
            "remote_addr": f"192.0.2.{entry.connection % 200}",
            "time_local": _local(ended_s),
            "msec": f"{ended_s:.3f}",
            "request_time": f"{_ms(entry.ended_s) - _ms(entry.read_s):.3f}",
            "request": entry.request,
            "status": str(entry.status),
            "body_bytes_sent": "512",
            "http_user_agent": entry.agent,
            "pid": str(entry.worker.pid),
            "connection": str(entry.connection),
            "upstream_addr": entry.upstream,
            **{
                f"upstream_{name}_time": "-" if time_s is None else f"{time_s:.3f}"
                for name, time_s in zip(("connect", "header", "response"), entry.times_s, strict=True)
            },
        }
        return self._template.format_map(values)


def _ms(at_s: float) -> float:
    """Round a time down to a millisecond, as nginx's clock does."""
    return int(at_s * 1000) / 1000


def _local(at_s: float) -> str:
    return datetime.fromtimestamp(int(at_s), UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
