"""Writes interval logs of HdrHistogram, by the format's own library."""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from tuneproof.explain.parse.load_tools.hdr_log import NANOSECONDS_PER_MS

_TAG: Final = re.compile(r"[^,\s]{1,100}")
# Three figures up to an hour.
_FIGURES: Final = 3
_HIGHEST_MS: Final = 3_600_000.0


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An interval to be written.

    Attributes:
        start_s: When it began, since the log's start.
        duration_s: How long it lasted.
        latencies_ms: Its latencies, 0 to an hour.
        tag: The series that it belongs to, without comma and space.
    """

    start_s: float
    duration_s: float
    latencies_ms: Sequence[float]
    tag: str | None = None


def write(intervals: Iterable[Interval], *, started_s: float) -> str:
    """Write a log in nanoseconds, as ``parse`` reads it.

    Args:
        intervals: The intervals in their order.
        started_s: When logging began, since the epoch.

    Raises:
        ValueError: A latency is negative or longer than an hour, or a tag has a comma or a space.
    """
    text = io.StringIO()
    # Any: the library has no types. Its own lines for the start and the intervals are not used: the one fails, and the
    # other cuts the maximum to whole milliseconds.
    writer: Any = HistogramLogWriter(text)
    writer.output_log_format_version()
    writer.output_comment(f"[StartTime: {started_s:.3f} (seconds since epoch)]")
    writer.output_legend()
    for interval in intervals:
        text.write(_line(interval))
    return text.getvalue()


def _line(interval: Interval) -> str:
    if interval.tag is not None and not _TAG.fullmatch(interval.tag):
        raise ValueError(f"a tag has neither comma nor space, nor is it empty: {interval.tag!r}")
    histogram: Any = HdrHistogram(1, int(_HIGHEST_MS * NANOSECONDS_PER_MS), _FIGURES)
    for latency_ms in interval.latencies_ms:
        if not 0 <= latency_ms <= _HIGHEST_MS:
            raise ValueError(f"a latency of {latency_ms} ms, expected 0 to {_HIGHEST_MS:.0f}")
        histogram.record_value(round(latency_ms * NANOSECONDS_PER_MS))
    tag = "" if interval.tag is None else f"Tag={interval.tag},"
    maximum_ms = histogram.get_max_value() / NANOSECONDS_PER_MS
    payload = histogram.encode().decode()
    return f"{tag}{interval.start_s:.3f},{interval.duration_s:.3f},{maximum_ms:.3f},{payload}\n"
