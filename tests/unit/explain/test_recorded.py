"""What is said of captures that the lab recorded, one cause each; see tests/captures/README.md."""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.support.places import CAPTURES
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.explanation import Explanation, explain
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
# The others need counters or a log beside the capture: without them, another cause would look the same.
TOLD_ALONE: Final = ("backend-slow", "path-loss", "slow-reader")


def explained(name: str) -> Explanation:
    return explain(sources([str(CAPTURES / f"{name}.pcap.gz")]))


def test_every_recorded_capture_is_looked_at() -> None:
    names = {path.name.removesuffix(".pcap.gz") for path in CAPTURES.glob("*.pcap.gz")}
    assert names == {HEALTHY, *BUILT}


def test_healthy_traffic_has_nothing_wrong() -> None:
    diagnosis = explained(HEALTHY).diagnosis
    assert diagnosis.healthy
    assert {assessment.verdict for assessment in diagnosis.assessments} == {
        CauseVerdict.RULED_OUT,
        CauseVerdict.NOT_SEEN,
    }


@pytest.mark.parametrize("name", [HEALTHY, *BUILT])
def test_a_capture_is_read_whole(name: str) -> None:
    """No packet is malformed, and the file is not cut short."""
    (capture,) = explained(name).evidence.captures
    assert capture.content.packets == capture.content.tcp_segments > 0
    assert capture.content.truncated is None
    assert not capture.content.malformed


@pytest.mark.parametrize("name", BUILT)
def test_no_cause_is_found_that_was_not_built(name: str) -> None:
    found = {assessment.cause for assessment in explained(name).diagnosis.found}
    assert found <= {BUILT[name]}


@pytest.mark.parametrize("name", BUILT)
def test_the_cause_that_was_built_is_found_or_possible(name: str) -> None:
    """What one file cannot decide is told, with what would decide it."""
    verdicts = {assessment.cause: assessment.verdict for assessment in explained(name).diagnosis.assessments}
    assert verdicts[BUILT[name]] in {CauseVerdict.FOUND, CauseVerdict.POSSIBLE}


@pytest.mark.parametrize("name", TOLD_ALONE)
def test_a_capture_alone_tells_these_causes(name: str) -> None:
    assert [assessment.cause for assessment in explained(name).diagnosis.found] == [BUILT[name]]
