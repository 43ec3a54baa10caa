"""What the client's load generators can do. images/client/loadgen does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Streams, TlsConnection
from tuneproof.lab.protocol.lasting import lasts
from tuneproof.lab.protocol.stall import FastRequest, Trial, Went


@dataclass(frozen=True, kw_only=True)
class StormSeen:
    """What became of a storm."""

    started_in_ms: float  # from the first to the last connect()
    connect_ms: tuple[float, ...]  # of those that stood, in ascending order, each from its own connect()
    unfinished: int  # neither stood nor failed
    failed: Mapping[str, int]  # by the errno's name


@dataclass(frozen=True, kw_only=True)
class SlowReading:
    """Connections that ask for a file and read a little of it now and then."""

    address: str
    port: int
    path: str
    count: int
    interval_s: float = 3.0  # between two reads; the default is the article's
    read_bytes: int = 1  # at most, every time; the default is the article's


@dataclass(frozen=True, kw_only=True)
class SlowReadersSeen:
    """What became of slow readers."""

    alive: int  # connections open at the end
    ended: int  # the server closed them
    failed: Mapping[str, int]  # never stood, by the errno's name
    read_bytes: int
    unread_bytes: int  # in the receive buffers at the end (SIOCINQ, tcp(7)), those of closed connections too


@dataclass(frozen=True, kw_only=True)
class Held:
    """Connections that are held."""

    held: int  # open now, with those of earlier calls
    failed: Mapping[str, int]
    """Of this call, those not answered in time by a 200: by the errno's name, or ``closed`` (by the server, before the
    head's end), or ``HTTP <status>``, or ``not HTTP``."""
    closed_since: int  # closed by the server after their answer, since the last call
    rss_bytes: int  # the client program's memory in RAM without the kernel's part


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A run of ab or wrk."""

    tool: str  # "ab" or "wrk"
    address: str
    port: int
    path: str
    concurrency: int  # connections at a time
    keep_alive: bool
    timeout_s: int  # ab: the run ends when nothing happens for so long; wrk: answers later than that are timeouts
    requests: int | None = None  # how many, for ab
    seconds: int | None = None  # how long, for wrk
    threads: int = 1  # of wrk; no more than there are CPUs for them, and connections


@dataclass(frozen=True, kw_only=True)
class AbTimes:
    """What ``ab -g`` writes about all requests. Percentiles are values that occurred."""

    connect_ms: Mapping[str, float]  # "p50", "p99" and "max" of the time until a connection stood
    connects_over_1s: int
    total_ms: Mapping[str, float]  # "p50" and "p99" of a request's time, with its connection's


@dataclass(frozen=True, kw_only=True)
class ToolSaid:
    """What a tool said of its run."""

    report: str
    times: AbTimes | None = None  # None of wrk


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round of the article's protocol: fast requests one after the other, while bulk downloads run."""

    address: str
    port: int
    fast_path: str
    requests: int  # each on a fresh connection
    timeout_s: float  # of a fast request, connection included
    bulk_path: str
    bulk_downloads: int  # one that ends is not begun again
    trial: str  # sent as X-Trial with every request


@dataclass(frozen=True, kw_only=True)
class RoundSeen:
    """What the requests of a round met."""

    requests: tuple[FastRequest, ...]  # their ``at_ms`` counts from when all downloads had been asked for
    bulk_bytes: int  # of all downloads, with their heads
    bulk_seconds: float  # up to the end of the last download if that came first


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """How much of its CPU a process did not get."""

    lost_pct: float
    longest_ms: float


class Loadgen(Protocol):
    """``python3 -m loadgen``."""

    def prepare(self, trial: Trial) -> float:
        """Run a trial's unloaded phase and place its connections; return when that was so (CLOCK_MONOTONIC, s)."""

    def go(self, start_s: float) -> Went:
        """Start the bulk downloads of the prepared trial at once, and run its window from ``start_s`` to the end."""

    @lasts(lambda asked: (asked.seconds or 0) + asked.timeout_s)
    def run_tool(self, asked: Tool) -> ToolSaid:
        """Run ab or wrk to its end."""

    @lasts(lambda asked: asked.requests * asked.timeout_s)
    def one_by_one(self, asked: Round) -> RoundSeen:
        """Run a round; the downloads end with the last of the fast requests."""

    @lasts(lambda seconds: seconds)
    def gaps(self, seconds: float) -> Gaps:
        """Spin for a while, and look where the clock jumps; nothing else of the lab may run meanwhile."""

    @lasts(lambda wait_s, **_: wait_s)
    def storm(self, address: str, port: int, connections: int, wait_s: float) -> StormSeen:
        """Begin connections as fast as possible, wait until all stand, each at least ``wait_s``; reset all.

        A connection stands when the client's kernel says so (the handshake's second packet has come); whether the
        server ever accepts it is not looked at.
        """

    def start_slow_readers(self, asked: SlowReading) -> None:
        """Begin slow readers, who read while other things are done.

        A server that closes a connection while it still has data for it is seen only when it sends a reset: its FIN
        stands behind the data, in its own send buffer. So "alive" means that nothing else has been heard.
        """

    def end_slow_readers(self) -> SlowReadersSeen:
        """End them."""

    def hold(self, address: str, port: int, path: str, count: int, timeout_s: float = 10.0) -> Held:
        """Open further connections, at most 256 at a time, ask on each, and keep those that are answered.

        The default time, from a connection's beginning to its answer's head, is enough for a SYN that is lost thrice.
        """

    def release(self) -> None:
        """Reset all connections that are held."""

    @lasts(lambda flows, **_: sum(flow.timeout_s for flow in flows))
    def flows(
        self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = (), host: str = "lab"
    ) -> tuple[tuple[Connection, ...], ...]:
        """Run flows at once, to their end; return the connections of each.

        Connections come from ``sources``, IPv4 addresses of the client, in turn; without any the kernel chooses.
        """

    @lasts(lambda flows, **_: sum(flow.timeout_s for flow in flows))
    def stand(self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()) -> None:
        """Run flows likewise, but let those that stay do so when the others have come to their end."""

    def end_flows(self) -> tuple[tuple[Connection, ...], ...]:
        """Reset the connections that stay; return the connections of each flow."""

    @lasts(lambda count, **_: count)
    def tls_connect(
        self, address: str, port: int, count: int, path: str = "/", version: str = "", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Make new TLS connections one after the other, each with one request, and forget all earlier sessions.

        ``version`` is "1.2" or "1.3" (default: what both ends like best), ``timeout_s`` the longest silence.
        """

    @lasts(lambda which, **_: len(which))
    def tls_resume(
        self, address: str, port: int, which: tuple[int, ...], path: str = "/", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Try to go on with sessions of the last :meth:`tls_connect`, by their numbers from 0."""

    def http2(self, address: str, port: int, streams: int, path: str = "/", timeout_s: float = 10.0) -> tuple[int, ...]:
        """Ask several times at once on one connection of HTTP/2; return the statuses in that order, 0 for none."""

    def open_streams(self, address: str, port: int, asked: tuple[Streams, ...]) -> None:
        """Ask for responses that stay open, each on a connection of its own; none of them is waited for."""

    def arrived(self) -> tuple[Arrived, ...]:
        """Read all that is there of each open stream, and wait for nothing; in the order in which they were opened."""

    def leave_streams(self) -> None:
        """Close the connections of all streams, and forget them."""
