"""Requests by well-known tools and by the article's protocol, and a look at the host. images/client/loadgen does it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.messages import Question
from tuneproof.lab.protocol.stall import FastRequest


@dataclass(frozen=True, kw_only=True)
class AbTimes:
    """What ``ab -g`` writes about all requests. Percentiles are values that occurred.

    Attributes:
        connect_ms: "p50", "p99" and "max" of the time until a connection stood.
        connects_over_1s: How many took a second or more.
        total_ms: "p50" and "p99" of a request's time, with its connection's.
    """

    connect_ms: Mapping[str, float]
    connects_over_1s: int
    total_ms: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ToolSaid:
    """What a tool said of its run.

    Attributes:
        report: What it printed.
        times: What ab wrote; None of wrk.
    """

    report: str
    times: AbTimes | None = None


@dataclass(frozen=True, kw_only=True)
class RunTool(Question[ToolSaid]):
    """Run ab or wrk to its end.

    Attributes:
        tool: "ab" or "wrk".
        address: IPv4 address of the subject.
        port: TCP port of the subject.
        path: Path to get, with its slash.
        concurrency: Connections at a time.
        keep_alive: Whether a connection carries more than one request.
        timeout_s: Whole seconds; ab: the run ends when nothing happens for so long, wrk: answers later than that count
            as timeouts.
        requests: How many requests, for ab.
        seconds: How long, in whole seconds, for wrk.
        threads: How many threads, for wrk; no more than there are CPUs for them, and connections.
    """

    tool: str
    address: str
    port: int
    path: str
    concurrency: int
    keep_alive: bool
    timeout_s: int
    requests: int | None = None
    seconds: int | None = None
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class OneByOneSeen:
    """What the requests of a round met.

    Attributes:
        requests: The fast requests; their ``at_ms`` counts from when all downloads had been asked for.
        bulk_bytes: Bytes of all downloads, with their heads.
        bulk_seconds: Time in which they arrived, up to the end of the last download if that came first.
    """

    requests: tuple[FastRequest, ...]
    bulk_bytes: int
    bulk_seconds: float


@dataclass(frozen=True, kw_only=True)
class RequestOneByOne(Question[OneByOneSeen]):
    """Ask for bulk downloads, then make fast requests one after the other; the downloads end with the last of these.

    Attributes:
        address: IPv4 address of the subject.
        port: Its TCP port.
        fast_path: Path of the small file.
        requests: How many fast requests, each on a fresh connection.
        timeout_s: Time limit of a fast request, connection included (the article's: 1 s).
        bulk_path: Path of the bulk file.
        bulk_downloads: How many downloads; one that ends is not begun again.
        trial: Label that is sent as X-Trial with every request.
    """

    address: str
    port: int
    fast_path: str
    requests: int
    timeout_s: float
    bulk_path: str
    bulk_downloads: int
    trial: str


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """How much of its CPU a process did not get.

    Attributes:
        lost_pct: Share of the time for which it did not run.
        longest_ms: The longest gap.
    """

    lost_pct: float
    longest_ms: float


@dataclass(frozen=True, kw_only=True)
class LookForGaps(Question[Gaps]):
    """Spin for a while, and look where the clock jumps; nothing else of the lab may run meanwhile.

    Attributes:
        seconds: How long.
    """

    seconds: float
