"""Moments at which a worker continued after a stall, while others worked.

A worker reads the clock once per loop iteration, so all events of the first iteration after a stall have the same
time. With times in milliseconds ($msec) a log shows when a worker certainly ran: when a request was read, when a
connection to an upstream was open, when a request ended. During a stall there are none of these, and at its end many.

A late connect can have other causes, but they do not leave all of these signs: the worker had shown no activity
for long when it noticed the connection; several of its requests, from other clients, continued within milliseconds; and
another worker began to connect to the same server later, and finished sooner. A network outage or a slow
TLS handshake would delay the other worker's connection, too, and separate delays end separately. Waiting requests
continue in the same iteration or the next. A request that was read after the late one had ended does not count: it may
be the same client's next one.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from tuneproof.explain.parse.access_log.records import LogRecord

# A connect is late if it takes this much longer than the worker's shortest to the same server: a busy CPU delays less.
LATE_MS: Final = 30
SILENT_MS: Final = 50
# A silence counts if a worker shows on average this many signs in such a time: the chance of none is e^-3, 5 %.
_EXPECTED: Final = 3
# This many other clients must have requests that continue with the late one: a single one may be chance.
TOGETHER: Final = 2
TOGETHER_MS: Final = 3
# A request with more time than this outside its upstream may have a slow body, a slow reader or a subrequest.
_OTHER_MS: Final = 10
# If two workers' shortest connects differ by a larger factor, the log contains requests of two hosts.
_SAME_DISTANCE: Final = 2
_SAME_MS: Final = 3
# The log is searched in parts of this many requests; at the edges of a part, requests are missing.
_AT_ONCE: Final = 50_000
_MOST_WORKERS: Final = 256


@dataclass(frozen=True, kw_only=True)
class Standstills:
    """The late upstream connects of one worker."""

    worker_pid: int
    server: str  # the upstream server of most of them
    alone: int  # moments at which it continued after a stall, while another worker connected
    moments: int  # all moments at which it noticed a late connection, while another worker connected
    delayed: int  # requests that continued together after a stall, with or without a late connection
    longest_s: float  # the longest silence before one of the moments in ``alone``


class _Request(NamedTuple):
    read_ms: int
    connected_ms: int | None  # None unless it certainly opened a connection, and hardly waited for anything else
    ended_ms: int
    worker_pid: int
    server: str
    client: int  # the serial number of its connection; if not logged, a unique number


class _Marks(NamedTuple):
    """The times at which a worker certainly ran, in order, each with the index of the request that shows it."""

    at_ms: list[int]
    request: list[int]

    @property
    def silent_ms(self) -> float:
        """The shortest silence that counts as a stall."""
        return max(SILENT_MS, _EXPECTED * (self.at_ms[-1] - self.at_ms[0]) / len(self.at_ms))

    def held_up(self, requests: Sequence[_Request]) -> int:
        """Return how many requests continued together after a silence."""
        silent_ms, held_up, at = self.silent_ms, 0, 1
        while at < len(self.at_ms):
            until = bisect_right(self.at_ms, self.at_ms[at] + TOGETHER_MS, at)
            if until - at >= TOGETHER and self.at_ms[at] - self.at_ms[at - 1] >= silent_ms:
                together = set(self.request[at:until])
                if len({requests[number].client for number in together}) >= TOGETHER:
                    held_up += len(together)
            at = until
        return held_up

    def between(self, from_ms: int, until_ms: int) -> list[int]:
        return self.at_ms[bisect_right(self.at_ms, from_ms) : bisect_left(self.at_ms, until_ms)]


class StandstillCounts:
    """Finds standstills in a log, part by part."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []
        self._nearest_ms: dict[tuple[int, str], int] = {}
        self._totals: dict[int, Counter[str]] = defaultdict(Counter)
        self._servers: dict[int, Counter[str]] = defaultdict(Counter)
        self._held_up: Counter[int] = Counter()

    def add(self, record: LogRecord) -> None:
        """Add a request; requests without a worker or times are ignored."""
        if record.worker_pid is None or record.time_s is None or record.request_time_s is None:
            return
        ended_ms, took_ms = round(record.time_s * 1000), round(record.request_time_s * 1000)
        read_ms = ended_ms - took_ms
        connects, answers, servers = (
            record.upstream_connect_time_s,
            record.upstream_response_time_s,
            record.upstream_addr,
        )
        connected_ms, server = None, ""
        if len(connects) == len(answers) == len(servers) == 1 and connects[0] and answers[0] is not None:
            connect_ms, server = round(connects[0] * 1000), servers[0]
            if took_ms - round(answers[0] * 1000) <= _OTHER_MS:
                connected_ms = read_ms + connect_ms
                key = record.worker_pid, server
                self._nearest_ms[key] = min(connect_ms, self._nearest_ms.get(key, connect_ms))
        self._requests.append(
            _Request(
                read_ms=read_ms,
                connected_ms=connected_ms,
                ended_ms=ended_ms,
                worker_pid=record.worker_pid,
                server=server,
                client=-1 - len(self._requests) if record.connection is None else record.connection,
            )
        )
        if len(self._requests) == _AT_ONCE:
            self._search()

    def found(self) -> tuple[Standstills, ...]:
        """Return the findings by worker."""
        self._search()
        return tuple(
            Standstills(
                worker_pid=pid,
                server=self._servers[pid].most_common(1)[0][0],
                alone=totals["alone"],
                moments=totals["moments"],
                delayed=self._held_up[pid],
                longest_s=totals["longest_ms"] / 1000,
            )
            for pid, totals in sorted(self._totals.items())
        )

    def _search(self) -> None:
        requests, self._requests = self._requests, []
        # If times are in whole seconds, requests that continued together look like any others.
        if not any(each.ended_ms % 1000 for each in requests):
            return
        marks = _marks(requests)
        for pid, own in marks.items():
            self._held_up[pid] += own.held_up(requests)
        opened: dict[str, list[_Request]] = defaultdict(list)
        for each in sorted(requests, key=attrgetter("read_ms")):
            if each.connected_ms is not None:
                opened[each.server].append(each)
        # Requests that continued together are one moment.
        last_ms: dict[int, int] = {}
        late = [(each.connected_ms or 0, number) for number, each in enumerate(requests) if self._is_late(each)]
        for connected_ms, number in sorted(late):
            each = requests[number]
            if connected_ms - last_ms.get(each.worker_pid, 0) > TOGETHER_MS and self._is_overtaken(
                each, opened[each.server]
            ):
                last_ms[each.worker_pid] = connected_ms
                self._count(each, number, marks, requests)

    def _is_late(self, each: _Request) -> bool:
        if each.connected_ms is None:
            return False
        return each.connected_ms - each.read_ms >= self._nearest_ms[each.worker_pid, each.server] + LATE_MS

    def _is_overtaken(self, late: _Request, opened: Sequence[_Request]) -> bool:
        """Tell whether another worker began to connect to the same server later, and finished sooner."""
        nearest_ms, done_ms = self._nearest_ms[late.worker_pid, late.server], late.connected_ms or 0
        for at in range(bisect_left(opened, (late.read_ms,)), len(opened)):
            other = opened[at]
            if other.read_ms >= done_ms:
                return False
            if other.worker_pid != late.worker_pid and (other.connected_ms or 0) < done_ms:
                near_ms, far_ms = sorted((nearest_ms, self._nearest_ms[other.worker_pid, other.server]))
                if far_ms <= _SAME_DISTANCE * near_ms + _SAME_MS:
                    return True
        return False

    def _count(self, late: _Request, number: int, marks: Mapping[int, _Marks], requests: Sequence[_Request]) -> None:
        pid, connected_ms = late.worker_pid, late.connected_ms or 0
        if pid not in self._totals and len(self._totals) >= _MOST_WORKERS:
            return
        totals, own = self._totals[pid], marks[pid]
        self._servers[pid][late.server] += 1
        totals["moments"] += 1
        first = bisect_left(own.at_ms, connected_ms - TOGETHER_MS)
        at_ms = own.at_ms[first]
        from_ms = own.at_ms[first - 1] if first else at_ms
        until_ms = max(connected_ms, min(connected_ms + TOGETHER_MS, late.ended_ms - 1))
        together = set(own.request[first : bisect_right(own.at_ms, until_ms)]) - {number}
        clients = {requests[other].client for other in together} - {late.client}
        silent_ms = at_ms - from_ms
        if silent_ms < own.silent_ms or len(clients) < TOGETHER:
            return
        others = sorted(at for other, seen in marks.items() if other != pid for at in seen.between(from_ms, at_ms))
        # If the whole machine stops, the other workers are silent, too.
        if max(later - sooner for sooner, later in pairwise((from_ms, *others, at_ms))) <= silent_ms / 2:
            totals["alone"] += 1
            totals["longest_ms"] = max(totals["longest_ms"], silent_ms)


def _marks(requests: Sequence[_Request]) -> dict[int, _Marks]:
    of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, each in enumerate(requests):
        own = of[each.worker_pid]
        own.append((each.read_ms, number))
        own.append((each.ended_ms, number))
        if each.connected_ms is not None:
            own.append((each.connected_ms, number))
    return {
        pid: _Marks(at_ms=[at for at, _ in own], request=[number for _, number in own])
        for pid, pairs in of.items()
        if (own := sorted(pairs))
    }
