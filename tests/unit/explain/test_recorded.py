"""Recorded captures and access logs have the diagnosis that they were built for; see tests/captures/README.md."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CAPTURES
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources

HEALTHY: Final = "healthy"
BUILT: Final[Mapping[str, Cause]] = {
    "accept-queue-overflow": Cause.ACCEPT_QUEUE_OVERFLOW,
    "backend-slow": Cause.BACKEND_SLOW,
    "event-loop-stall": Cause.EVENT_LOOP_STALL,
    "path-loss": Cause.PATH_LOSS,
    "slow-reader": Cause.SLOW_READER_BUFFERING,
    "syn-queue-drop": Cause.SYN_QUEUE_DROP,
}
# The other causes in BUILT also need counters or a log: a capture alone does not distinguish them from others.
SUFFICIENT_ALONE: Final = ("backend-slow", "path-loss", "slow-reader")


def test_every_recorded_capture_is_checked() -> None:
    names = {path.name.removesuffix(".pcap.gz") for path in CAPTURES.glob("*.pcap.gz")}
    assert names == {HEALTHY, *BUILT}


@pytest.mark.parametrize("name", [HEALTHY, *BUILT])
def test_the_intended_cause_alone_is_found_or_is_possible_if_the_capture_is_not_enough(name: str) -> None:
    explanation = explain(sources([str(CAPTURES / f"{name}.pcap.gz")]))
    (capture,) = explanation.evidence.captures
    assert capture.content.packets == capture.content.tcp_segments > 0
    assert (capture.content.truncated, capture.content.malformed) == (None, {})
    verdicts = {each.cause: each.verdict for each in explanation.diagnosis.assessments}
    found = [each.cause for each in explanation.diagnosis.found]
    if name == HEALTHY:
        assert explanation.diagnosis.healthy
        assert set(verdicts.values()) == {CauseVerdict.RULED_OUT, CauseVerdict.NOT_SEEN}
    else:
        is_enough = name in SUFFICIENT_ALONE
        assert verdicts[BUILT[name]] is (CauseVerdict.FOUND if is_enough else CauseVerdict.POSSIBLE)
        assert found == ([BUILT[name]] if is_enough else [])


LOGS: Final = sorted((CAPTURES / "logs").glob("*.log.gz"))
STALLED_LOG: Final = "event-loop-stall.log.gz"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_recorded_access_log_shows_a_stall_only_if_there_was_one(path: Path) -> None:
    explanation = explain(sources([str(path)]))
    (log,) = explanation.evidence.access_logs
    assert (log.content.format_name, log.content.unmatched_lines) == ("explain", 0)
    found = [each.cause for each in explanation.diagnosis.found]
    assert found == ([Cause.EVENT_LOOP_STALL] if path.name == STALLED_LOG else [])


def test_every_recorded_access_log_is_checked() -> None:
    assert len(LOGS) == 16


@pytest.mark.parametrize(
    ("name", "ports", "other", "found"),
    [
        (
            "answered",
            {
                8443: {"connections": 13, "established": 13, "answered": 13, "negotiated": 3},
                8444: {"connections": 10, "established": 10, "answered": 10, "retried": 10},
            },
            {"UDP": 3},
            [],
        ),
        (
            "closed-port",
            {8449: {"connections": 5, "unanswered": 5, "unreachable": 5}},
            {"ICMP": 5},
            [Cause.QUIC_UNANSWERED],
        ),
        ("no-answer", {8443: {"connections": 5, "unanswered": 5}}, {}, [Cause.QUIC_UNANSWERED]),
    ],
)
def test_recorded_quic_connections_are_counted_by_their_outcome(
    name: str, ports: Mapping[int, Mapping[str, int]], other: Mapping[str, int], found: list[Cause]
) -> None:
    """A datagram with an unknown version counts as UDP; nginx's answer shows that its connection is QUIC."""
    explanation = explain(sources([str(CAPTURES / "quic" / f"{name}.pcap.gz")]))
    (capture,) = explanation.evidence.captures
    assert capture.content.other == other
    counts = {
        service.server.port: {key: value for key, value in vars(service).items() if isinstance(value, int) and value}
        for service in capture.content.quic
    }
    assert counts == ports
    assert [each.cause for each in explanation.diagnosis.found] == found
