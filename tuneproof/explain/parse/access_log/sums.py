"""Sums over the requests of an access log, in bounded memory: samples, rates, outages, short bodies, upstreams."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tuneproof.explain.parse.access_log.kinds import is_sent_at_once, lasts_by_design, may_have_body
from tuneproof.explain.parse.access_log.records import LogRecord
from tuneproof.explain.parse.figures import Distribution, percentile

MOST_VALUES: Final = 1_000_000
"""The maximum number of values to keep per kind, 8 bytes each."""

_BATCH: Final = 1_000


class Sample:
    """Keeps all values up to a limit; beyond it every second one, then every fourth, and so on.

    Count, minimum, maximum and mean are those of all values. Percentiles are those of the kept values, which are spread
    evenly over the stream: at least half of the limit, if any were left out. A pattern with a period of a power of two
    could be missed, but requests from many clients do not form one.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._kept = array("d")
        self._stride = 1
        self._new: list[float] = []
        self._count = 0
        self._sum = 0.0
        self._smallest = float("inf")
        self._largest = float("-inf")

    def add(self, value: float) -> None:
        """Add a value."""
        self._new.append(value)
        if len(self._new) == _BATCH:
            self._keep_new()

    def distribution(self) -> Distribution | None:
        """Summarise the values so far; None if there are none."""
        self._keep_new()
        if not self._count:
            return None
        ordered = sorted(self._kept)
        return Distribution(
            count=self._count,
            minimum=self._smallest,
            median=percentile(ordered, 50),
            p90=percentile(ordered, 90),
            p99=percentile(ordered, 99),
            maximum=self._largest,
            mean=self._sum / self._count,
        )

    def _keep_new(self) -> None:
        """Move the new values to the kept ones in a batch, which is cheaper than one by one."""
        if not self._new:
            return
        # Start at the first value with an index in the whole stream that is a multiple of the stride.
        self._kept.extend(self._new[-self._count % self._stride :: self._stride])
        self._count += len(self._new)
        self._sum += sum(self._new)
        self._smallest = min(self._smallest, *self._new)
        self._largest = max(self._largest, *self._new)
        self._new.clear()
        while len(self._kept) > self._most:
            self._kept = self._kept[::2]
            self._stride *= 2


_MOST_SECONDS: Final = 100_000  # more than a day


class Seconds:
    """Counts requests by the second in which they ended. Beyond 100 000 seconds, the earlier half is dropped."""

    def __init__(self) -> None:
        self.busiest = 0  # requests in the busiest second, even if it was dropped
        # Requests logged after one with a later time: workers buffer lines, and cache the time.
        self.out_of_order = 0
        self.first_s: float | None = None
        self.last_s: float | None = None
        self._counts: dict[int, int] = {}

    def add(self, time_s: float) -> None:
        """Add a request by the time of its end, in seconds since 1970-01-01 UTC."""
        if self.first_s is None or time_s < self.first_s:
            self.first_s = time_s
        if self.last_s is None or time_s >= self.last_s:
            self.last_s = time_s
        else:
            self.out_of_order += 1
        second = int(time_s)
        count = self._counts.get(second, 0) + 1
        self._counts[second] = count
        self.busiest = max(self.busiest, count)
        if len(self._counts) > _MOST_SECONDS:
            self._counts = dict(sorted(self._counts.items())[_MOST_SECONDS // 2 :])


_MINUTE_S: Final = 60
_MOST_MINUTES: Final = 100_000  # more than two months
# A period with a larger share of failures is an outage.
_OUTAGE_SHARE: Final = 0.05
_TWO: Final = 2


@dataclass(frozen=True, kw_only=True)
class Outage:
    """The period of whole minutes with the most failures beyond one request in twenty."""

    begin_s: int  # in seconds since 1970-01-01 UTC, like end_s
    end_s: int
    requests: int
    failed: int  # how many of them failed
    is_of_one_client: bool = False  # whether one client sent all failed requests, and others sent the rest


class _Minute:
    __slots__ = ("clients", "failed", "failing", "requests")

    def __init__(self) -> None:
        self.requests = self.failed = 0
        # Up to two clients per minute, and up to two with failures.
        self.clients: set[str | None] = set()
        self.failing: set[str | None] = set()

    def add(self, client: str | None, *, has_failed: bool) -> None:
        self.requests += 1
        if len(self.clients) < _TWO:
            self.clients.add(client)
        if has_failed:
            self.failed += 1
            if len(self.failing) < _TWO:
                self.failing.add(client)

    def extend(self, other: "_Minute") -> None:
        self.requests += other.requests
        self.failed += other.failed
        self.clients |= other.clients
        self.failing |= other.failing


class Outages:
    """Counts failures of one kind by minute. Beyond 100 000 minutes, the earlier half is dropped."""

    def __init__(self) -> None:
        self._minutes: dict[int, _Minute] = {}

    def add(self, time_s: float, *, has_failed: bool, client: str | None = None) -> None:
        """Add a request by the time of its end, in seconds since 1970-01-01 UTC."""
        at = int(time_s // _MINUTE_S)
        minute = self._minutes.get(at)
        if minute is None:
            minute = self._minutes[at] = _Minute()
        minute.add(client, has_failed=has_failed)
        if len(self._minutes) > _MOST_MINUTES:
            self._minutes = dict(sorted(self._minutes.items())[_MOST_MINUTES // 2 :])

    def worst(self) -> Outage | None:
        """Return the worst outage; None without one."""
        best: Outage | None = None
        most = beyond = 0.0
        begin, period = 0, _Minute()
        for at, minute in sorted(self._minutes.items()):
            if beyond <= 0:
                begin, beyond, period = at, 0.0, _Minute()
            beyond += minute.failed - _OUTAGE_SHARE * minute.requests
            period.extend(minute)
            if beyond > most:
                most = beyond
                best = Outage(
                    begin_s=begin * _MINUTE_S,
                    end_s=(at + 1) * _MINUTE_S,
                    requests=period.requests,
                    failed=period.failed,
                    is_of_one_client=len(period.failing) == 1 and len(period.clients) > 1,
                )
        return best


_MOST_CLIENTS: Final = 10_000
_LONGEST_ADDRESS: Final = 100
_FIRST_ERROR: Final = 400


@dataclass(frozen=True, kw_only=True)
class Failing:
    """The client with the most requests that got one of several statuses."""

    address: str
    failed: int  # number of its requests with one of these statuses
    requests: int  # number of all its requests


class Clients:
    """Counts requests and errors by the client's address, for the log's first 10 000 addresses."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.are_all = True  # whether no address was left out
        self._errors: dict[int, Counter[str]] = {}

    def add(self, record: LogRecord) -> None:
        """Add a request; requests without an address are ignored."""
        client = record.remote_addr
        if client is None or len(client) > _LONGEST_ADDRESS:
            return
        if client not in self.requests and len(self.requests) >= _MOST_CLIENTS:
            self.are_all = False
            return
        self.requests[client] += 1
        if record.status is not None and record.status >= _FIRST_ERROR:
            self._errors.setdefault(record.status, Counter())[client] += 1

    def failing(self, status: int) -> int:
        """Return the number of clients with a request that got this error status."""
        return len(self._errors.get(status, ()))

    def most_failing(self, statuses: Iterable[int]) -> Failing | None:
        """Return the client with the most requests that got one of these statuses; None if no request did."""
        failed = sum((self._errors.get(status, Counter()) for status in statuses), Counter[str]())
        for address, number in failed.most_common(1):
            return Failing(address=address, failed=number, requests=self.requests[address])
        return None


_OK: Final = 200
_MOST_URIS: Final = 2_000
_MOST_SIZES: Final = 64
_LONGEST_URI: Final = 1_024


class ShortBodies:
    """Counts GET requests that were answered 200 with fewer bytes than the URI's complete body.

    The complete size is assumed to be the URI's most common one (in a tie, the larger), if at least half of its
    responses and at least two have it: the size of a generated page varies. A smaller size that occurs more than once
    is another version, such as the compressed one. If most responses were cut short, this fails: give the size instead.
    At most 2000 URIs are checked, with 64 sizes each.
    """

    def __init__(self, full_body_bytes: Mapping[str, int]) -> None:
        self._full = full_body_bytes
        self._short_of_known = 0
        self._sizes: dict[str, Counter[int]] = {}
        self._others: Counter[str] = Counter()

    def add(self, record: LogRecord) -> None:
        """Add a request; requests without a size are ignored."""
        if record.status != _OK or record.body_bytes is None or record.request is None:
            return
        method, _, rest = record.request.partition(" ")
        # A response to HEAD has no body: RFC 9110, 9.3.2.
        if method != "GET":
            return
        uri = rest.partition(" ")[0].partition("?")[0]
        if uri in self._full:
            self._short_of_known += record.body_bytes < self._full[uri]
            return
        sizes = self._sizes.get(uri)
        if sizes is None:
            if len(self._sizes) >= _MOST_URIS or len(uri) > _LONGEST_URI:
                return
            sizes = self._sizes[uri] = Counter()
        if record.body_bytes in sizes or len(sizes) < _MOST_SIZES:
            sizes[record.body_bytes] += 1
        else:
            self._others[uri] += 1

    def count(self) -> int:
        """Return the number of short bodies so far."""
        return self._short_of_known + sum(self._short(uri, sizes) for uri, sizes in self._sizes.items())

    def _short(self, uri: str, sizes: Counter[int]) -> int:
        usual, times = max(sizes.items(), key=lambda item: (item[1], item[0]))
        if times == 1 or 2 * times < sizes.total() + self._others[uri]:
            return 0
        return sum(count == 1 and size < usual for size, count in sizes.items())


_CLIENT_CLOSED_REQUEST: Final = 499
_BAD_GATEWAY: Final = 502
_GATEWAY_TIMEOUT: Final = 504
_WITHOUT_ANSWER: Final = frozenset({_BAD_GATEWAY, _GATEWAY_TIMEOUT})
_GIVEN_UP: Final = frozenset({_CLIENT_CLOSED_REQUEST, _GATEWAY_TIMEOUT})


def _is_own_answer(record: LogRecord) -> bool:
    """Tell whether the last upstream answered with the request's status: without an answer, nginx logs 502 or 504."""
    if record.upstream_status[-1:] != (record.status,):
        return False
    return record.status not in _WITHOUT_ANSWER or record.upstream_header_time_s[-1:] not in {(), (None,)}


class Upstreams:
    """Sums the upstream columns of a log, request by request."""

    def __init__(self) -> None:
        self.retried: int | None = None  # requests passed to more than one server; None as long as no server was logged
        # Per request: the time from the connect to the response header of its last server.
        self.header_minus_connect_s = Sample()
        # The request's time minus that of its servers, which is the client's share. Not for requests with a body, which
        # nginx waits for, too; nor for small responses: these fit into a send buffer, so a difference has another
        # cause, such as limit_req or auth_request.
        self.client_s = Sample()
        # The servers' time in requests without a body and with a small response: the client has no part in it. Not if a
        # server was not reached: it did not cause that time.
        self.small_s = Sample()
        # Attempts without a header that nginx or the client gave up on; and connects that nginx gave up on.
        self.unanswered_s = Sample()
        self.connect_timeouts = 0
        self.errors: Counter[int] = Counter()  # errors that an upstream answered with, by status
        self.errors_without: Counter[int] = Counter()  # errors of requests that no upstream answered
        self.hidden_502 = 0  # requests answered without a server error, although one of their upstreams had a 502

    def add(self, record: LogRecord) -> None:
        """Add a request."""
        connects, headers = record.upstream_connect_time_s, record.upstream_header_time_s
        responses = record.upstream_response_time_s
        servers = max(
            len(record.upstream_addr), len(record.upstream_status), len(connects), len(headers), len(responses)
        )
        if record.status is not None and record.status >= _FIRST_ERROR:
            self.errors[record.status] += _is_own_answer(record)
            # Without the variable, the tuple is empty.
            self.errors_without[record.status] += bool(record.upstream_status) and not any(record.upstream_status)
        is_answered = record.status is not None and record.status < _CLIENT_CLOSED_REQUEST
        self.hidden_502 += is_answered and _BAD_GATEWAY in record.upstream_status
        if servers:
            self.retried = (self.retried or 0) + (servers > 1)
        if connects and headers and (connected := connects[-1]) is not None and (answered := headers[-1]) is not None:
            self.header_minus_connect_s.add(max(0.0, answered - connected))
        if len(connects) == len(headers) == len(responses):
            self._add_given_up(record)
        known = [time_s for time_s in responses if time_s is not None]
        has_body = record.request is not None and may_have_body(record)
        is_small = is_sent_at_once(record)
        is_reached = len(connects) != len(responses) or None not in connects
        if known and is_small and is_reached and not has_body and not lasts_by_design(record):
            self.small_s.add(sum(known))
        if known and record.request_time_s is not None and not has_body and is_small is False:
            # Both are rounded, and a stalled worker's clock is late: the difference may be negative.
            self.client_s.add(max(0.0, record.request_time_s - sum(known)))

    def _add_given_up(self, record: LogRecord) -> None:
        times = zip(
            record.upstream_connect_time_s, record.upstream_header_time_s, record.upstream_response_time_s, strict=True
        )
        last = len(record.upstream_response_time_s) - 1
        logged = record.upstream_status if len(record.upstream_status) == last + 1 else ()
        for at, (connect_s, header_s, response_s) in enumerate(times):
            status = logged[at] if logged else record.status if at == last else None
            if at == last and record.status == _CLIENT_CLOSED_REQUEST:
                status = record.status
            if header_s is not None or response_s is None or status not in _GIVEN_UP:
                continue
            if connect_s is not None:
                self.unanswered_s.add(max(0.0, response_s - connect_s))
            else:
                self.connect_timeouts += status == _GATEWAY_TIMEOUT
