"""Interval logs of HdrHistogram are read and written; damaged and oversized histograms are refused."""

import base64
import struct
import zlib

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hdr_logs import Interval, write
from tests.support.mutations import mutated
from tuneproof.explain.parse.load_tools.hdr_log import HdrLog, parse, runs
from tuneproof.explain.parse.load_tools.hdr_payload import decode
from tuneproof.explain.parse.problems import MalformedEvidenceError

# The beginning of a log that jHiccup wrote: the histograms hold hiccups of a JVM, two figures, in ns.
RECORDED = """\
#[Logged with jHiccup version 2.0.7-SNAPSHOT]
#[Histogram log format version 1.2]
#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=
1.134,0.999,0.442,HISTFAAAAEJ42pNpmSzMwMAgxwABTBDKT4GBgdnNYMcCBvsPEBEWLj45FTExAT4pBSEBKa6UkAgBi1uM7xjfMMlwMDABAC0CCjM=
2.133,1.001,0.426,HISTFAAAAD942pNpmSzMwMAgwwABTBDKT4GBgdnNYMcCBvsPEBE+Ph4OLgk5OSkeIS4+LgEeswIDo1+MbmdYNASYAA51CSo=
"""


def a_payload(*, figures: int = 3, lowest: int = 1, highest: int = 1000, counts: bytes = b"\x02") -> str:
    """Return an encoded histogram of any header and any counts."""
    inner = struct.pack(">IIIIQQd", 0x1C849313, len(counts), 0, figures, lowest, highest, 1.0) + counts
    compressed = zlib.compress(inner)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(compressed)) + compressed).decode()


def parse_or_error(text: str) -> HdrLog | MalformedEvidenceError:
    """Return the log, or the one error."""
    try:
        return parse(text)
    except MalformedEvidenceError as error:
        return error


def test_recorded_log_is_read_in_full() -> None:
    """Each interval has its count and its latencies; the longest is what the log says itself."""
    log = parse(RECORDED)
    assert (log.started_s, len(log.intervals), log.unread_lines) == (1_441_812_279.474, 3, 0)
    first = log.intervals[0]
    assert (first.start_s, first.duration_s, first.count) == (0.127, 1.007, 741)
    assert [round(interval.latency_ms["max"], 3) for interval in log.intervals] == [2.769, 0.442, 0.426]


def test_intervals_add_up_to_a_run() -> None:
    """The total's worst is the worst interval's, and its duration the intervals'."""
    [run] = runs(parse(RECORDED)).values()
    assert run.requests == sum(interval.count for interval in parse(RECORDED).intervals)
    assert run.duration_s == pytest.approx(3.007)
    assert run.latency_ms["max"] == pytest.approx(2.768895)
    assert (run.failed_share, run.interrupted) == (0, False)


def test_what_is_written_is_read_again() -> None:
    """Three figures of each latency survive, and so do the series."""
    written = write(
        [
            Interval(start_s=0, duration_s=1, latencies_ms=[1.0] * 98 + [250.0, 3000.0]),
            Interval(start_s=0, duration_s=1, latencies_ms=[7.0], tag="upload"),
            Interval(start_s=1, duration_s=1, latencies_ms=[]),
        ],
        started_s=1_700_000_000,
    )
    log = parse(written)
    found = runs(log)
    assert (log.started_s, [interval.count for interval in log.intervals]) == (1_700_000_000, [100, 1, 0])
    assert found[None].latency_ms["p50"] == pytest.approx(1, rel=0.001)
    assert found[None].latency_ms["p99"] == pytest.approx(250, rel=0.001)
    assert found[None].latency_ms["max"] == pytest.approx(3000, rel=0.001)
    assert (found[None].requests_per_s, found["upload"].requests) == (50, 1)


def test_percentiles_and_mean_are_those_of_the_library() -> None:
    """Its own arithmetic, one counter after the other, gives the same."""
    histogram = HdrHistogram(1000, 3_600_000_000_000, 4)
    for number in range(1, 2001):
        histogram.record_value(number**3)
    encoded = histogram.encode()
    decoded = decode(encoded.decode())
    expected = [histogram.get_value_at_percentile(percent) for percent in (10, 50, 90, 99, 100)]
    assert decoded.percentiles([100, 500, 900, 990, 1000]) == expected
    assert decoded.mean() == pytest.approx(HdrHistogram.decode(encoded).get_mean_value())


def test_unit_of_the_values_can_be_told() -> None:
    """The log itself does not say it; wrk2, for one, counts microseconds."""
    [run] = runs(parse(RECORDED, units_per_ms=1000)).values()
    assert run.latency_ms["max"] == pytest.approx(2768.895)


def test_last_line_that_was_cut_off_is_counted() -> None:
    """A run that was stopped ends in the middle of a line; what is before it counts."""
    log = parse(RECORDED[:-30])
    assert (len(log.intervals), log.unread_lines) == (2, 1)
    assert log.unread_samples[0].startswith("line 7")
    [run] = runs(log).values()
    assert run.interrupted


def test_histograms_of_another_precision_are_not_added() -> None:
    """Counters of another width stand for other values."""
    log = parse(f"{RECORDED}3.134,1.000,0.001,{a_payload(figures=3)}\n")
    assert (len(log.intervals), log.unread_lines) == (3, 1)
    assert "precision" in log.unread_samples[0]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("HIST", "cut to 3 bytes"),
        ("!!!!", "start,length,max,histogram"),
        (base64.b64encode(struct.pack(">II", 0x1C849382, 0)).decode(), "older than V2"),
        (base64.b64encode(struct.pack(">II", 7, 0)).decode(), "no compressed histogram"),
        (base64.b64encode(struct.pack(">II", 0x1C849314, 9)).decode(), "has 0 of 9 bytes"),
        (a_payload(figures=9), "9 figures"),
        (a_payload(lowest=0), "from 0"),
        (a_payload(figures=5, highest=1 << 62), "counters"),
        (a_payload(counts=bytes(5_000_000)), "larger than"),
        (a_payload(highest=100_000, counts=b"\x02" * 60_000), "cannot be decoded"),
    ],
    ids=["short", "no base64", "old", "other", "length", "figures", "lowest", "counters", "bomb", "overrun"],
)
def test_hostile_histogram_is_refused_with_its_place(payload: str, reason: str) -> None:
    """Nothing is allocated or decompressed beyond what a sensible histogram needs."""
    with pytest.raises(MalformedEvidenceError, match=reason) as caught:
        parse(f"0.0,1.0,1.0,{payload}\n")
    assert caught.value.line == 1


@pytest.mark.parametrize("text", ["", "hello\n"])
def test_other_text_is_no_log(text: str) -> None:
    """Neither an interval nor a head is in it."""
    with pytest.raises(MalformedEvidenceError, match="line 1"):
        parse(text)


@pytest.mark.parametrize(
    "interval",
    [
        Interval(start_s=0, duration_s=1, latencies_ms=[-1.0]),
        Interval(start_s=0, duration_s=1, latencies_ms=[4_000_000.0]),
        Interval(start_s=0, duration_s=1, latencies_ms=[float("nan")]),
        Interval(start_s=0, duration_s=1, latencies_ms=[], tag="a,b"),
    ],
)
def test_interval_that_a_log_cannot_hold_is_not_written(interval: Interval) -> None:
    """A latency is 0 to an hour, and a tag without comma."""
    with pytest.raises(ValueError, match=r"latency|tag"):
        write([interval], started_s=0)


@given(text=mutated(RECORDED))
@settings(max_examples=200, derandomize=True, database=None)
def test_mutated_log_gives_an_answer_or_the_one_error(text: str) -> None:
    """Whatever became of the log, there are figures, or an error with a line."""
    log = parse_or_error(text)
    if isinstance(log, MalformedEvidenceError):
        assert (log.line or 0) >= 1
    else:
        assert len(runs(log)) <= 17


@given(counts=st.binary(max_size=60), figures=st.integers(0, 6), highest=st.integers(0, 1 << 40))
@settings(max_examples=200, derandomize=True, database=None)
def test_any_counts_in_a_sound_envelope_are_decoded_or_refused(counts: bytes, figures: int, highest: int) -> None:
    """The library's decoder meets any bytes, and nothing but its error or an answer comes out."""
    log = parse_or_error(f"0.0,1.0,1.0,{a_payload(counts=counts, figures=figures, highest=highest)}\n")
    if isinstance(log, MalformedEvidenceError):
        assert log.line == 1
    else:
        assert log.intervals[0].count >= 0
        assert len(runs(log)) == 1
