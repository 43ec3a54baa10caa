"""The functions of the client's load generators; images/client/loadgen implements them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Streams, TlsConnection
from tuneproof.lab.protocol.lasting import lasts
from tuneproof.lab.protocol.stall import FastRequest, Trial, TrialResult


@dataclass(frozen=True, kw_only=True)
class StormSeen:
    """The result of a storm."""

    connect_ms: tuple[float, ...]  # of established connections, in ascending order, each since its own connect()
    unfinished: int  # neither established nor failed
    failed: Mapping[str, int]  # connections, by the errno's name


@dataclass(frozen=True, kw_only=True)
class SlowReading:
    """Connections that request a file and read a little of it at regular intervals."""

    address: str
    port: int
    path: str
    count: int
    interval_s: float = 3.0  # between two reads; the article's value by default
    read_bytes: int = 1  # at most, per read; the article's value by default


@dataclass(frozen=True, kw_only=True)
class SlowReadersSeen:
    """The results of slow readers."""

    alive: int  # connections open at the end
    ended: int  # the server closed them
    failed: Mapping[str, int]  # never established, by the errno's name
    read_bytes: int
    unread_bytes: int  # in the receive buffers at the end (SIOCINQ, tcp(7)), including those of closed connections


@dataclass(frozen=True, kw_only=True)
class Held:
    """Connections that are held."""

    held: int  # open now, including those of earlier calls
    failed: Mapping[str, int]
    """This call's connections without a 200 in time: by the errno's name, ``closed`` (by the server, before the end of
    the headers), ``HTTP <status>`` or ``not HTTP``.
    """
    rss_bytes: int  # the client program's resident memory


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A run of ab or wrk."""

    tool: str  # "ab" or "wrk"
    address: str
    port: int
    path: str
    concurrency: int  # concurrent connections
    keep_alive: bool
    timeout_s: int  # ab: the run ends when nothing happens for this long; wrk: later responses are timeouts
    requests: int  # only for ab
    seconds: int  # only for wrk
    threads: int = 1  # wrk's threads; at most as many as CPUs and connections


@dataclass(frozen=True, kw_only=True)
class AbTimes:
    """The times that ``ab -g`` writes about all requests. Percentiles are values that occurred."""

    connect_ms: Mapping[str, float]  # "p50", "p99" and "max" of the time until a connection was established
    connects_over_1s: int
    total_ms: Mapping[str, float]  # "p50" and "p99" of a request's time, including its connection's


@dataclass(frozen=True, kw_only=True)
class ToolReport:
    """The report of ab or wrk on its run."""

    report: str
    times: AbTimes | None = None  # None for wrk


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round of the article's protocol: fast requests one after the other, while bulk downloads run."""

    address: str
    port: int
    fast_path: str
    requests: int  # each on a new connection
    timeout_s: float  # of a fast request, connection included
    bulk_path: str
    bulk_downloads: int  # one that ends is not started again
    trial: str  # sent as X-Trial with every request


@dataclass(frozen=True, kw_only=True)
class RoundSeen:
    """The results of a round's requests."""

    requests: tuple[FastRequest, ...]  # ``at_ms`` counts from the time when all downloads had been requested
    bulk_bytes: int  # of all downloads, including their headers
    bulk_seconds: float  # until the last fast request, or until the last download if that ended earlier


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The CPU time that a spinning process did not get."""

    lost_pct: float
    longest_ms: float


class Loadgen(Protocol):
    """``python3 -m loadgen``."""

    def prepare(self, trial: Trial) -> float:
        """Run a trial's unloaded phase and place its connections; return when that was done (CLOCK_MONOTONIC, s)."""

    def go(self, start_s: float) -> TrialResult:
        """Start the bulk downloads of the prepared trial at once, and run its window from ``start_s`` on."""

    @lasts(lambda asked: asked.seconds + asked.timeout_s)
    def run_tool(self, asked: Tool) -> ToolReport:
        """Run ab or wrk to its end."""

    @lasts(lambda asked: asked.requests * asked.timeout_s)
    def one_by_one(self, asked: Round) -> RoundSeen:
        """Run a round; the downloads end with the last fast request."""

    @lasts(lambda seconds: seconds)
    def gaps(self, seconds: float) -> Gaps:
        """Spin for a while, and look for jumps in the clock; nothing else in the lab may run at the same time."""

    @lasts(lambda wait_s, **_: wait_s)
    def storm(self, address: str, port: int, connections: int, wait_s: float) -> StormSeen:
        """Start connections as fast as possible; reset all when they are established, or ``wait_s`` after the last.

        A connection is established when the client has received the SYN-ACK, whether or not the server ever accepts it.
        """

    def start_slow_readers(self, asked: SlowReading) -> None:
        """Start slow readers, which read while other calls run.

        If the server closes a connection with unsent data, the client notices only a reset: a FIN waits behind the data
        in the server's send buffer. "Alive" therefore means that the client has noticed no end.
        """

    def end_slow_readers(self) -> SlowReadersSeen:
        """End the slow readers."""

    def hold(self, address: str, port: int, path: str, count: int) -> Held:
        """Open further connections, at most 256 at a time, send a request on each, and keep those with a 200 in time.

        Ten seconds, from a connection's start to its response's headers, are enough for a SYN that is lost three times.
        """

    def release(self) -> None:
        """Reset all connections that are held."""

    @lasts(lambda flows, **_: sum(flow.timeout_s for flow in flows))
    def flows(
        self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()
    ) -> tuple[tuple[Connection, ...], ...]:
        """Run flows at the same time, to their end; return the connections of each.

        Connections come from ``sources``, IPv4 addresses of the client, in turn; without any, the kernel chooses one.
        """

    @lasts(lambda flows, **_: sum(flow.timeout_s for flow in flows))
    def start_flows(self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()) -> None:
        """Run flows until only connections that stay open are left, and keep those."""

    def end_flows(self) -> tuple[tuple[Connection, ...], ...]:
        """Let the connections that stay open take their later steps, then reset them; return those of each flow."""

    @lasts(lambda count, **_: count)
    def tls_connect(
        self, address: str, port: int, count: int, path: str = "/", version: str = ""
    ) -> tuple[TlsConnection, ...]:
        """Make new TLS connections one after the other, each with one request, and forget all earlier sessions.

        version: "1.2" or "1.3" (default: the best that both ends support).
        """

    @lasts(lambda which, **_: len(which))
    def tls_resume(self, address: str, port: int, which: tuple[int, ...], path: str = "/") -> tuple[TlsConnection, ...]:
        """Try to resume sessions of the last :meth:`tls_connect`, by their numbers from 0."""

    def http2(self, address: str, port: int, streams: int, path: str = "/") -> tuple[int, ...]:
        """Send several requests at once on one HTTP/2 connection; return the statuses in the same order, 0 for none."""

    def open_streams(self, address: str, port: int, asked: tuple[Streams, ...]) -> None:
        """Request responses that stay open, each on its own connection; do not wait for them."""

    def arrived(self) -> tuple[Arrived, ...]:
        """Read everything that has arrived, without waiting; return the state of each stream, in order of opening."""

    def leave_streams(self) -> None:
        """Close the connections of all streams, and forget them."""
