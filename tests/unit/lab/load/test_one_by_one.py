"""The article's own test as a load: the client's settings, and the results of a round."""

import pytest

from tests.support.canned_trials import fast_request
from tests.support.fake_stage import ADDRESS, PORT, FakeStage, about
from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.one_by_one import OneByOne, ProtocolObservation
from tuneproof.lab.protocol.loadgen import Loadgen, Round, RoundSeen
from tuneproof.lab.topology.program import Call

TOTALS_MS = (30.0, 10.0, 20.0, 1000.0, 40.0)


def answer(*totals_ms: float) -> RoundSeen:
    """Return a round with downloads at 4 MB/s and requests of these times, complete if they take less than 1 s."""
    requests = tuple(fast_request(total_ms, complete=total_ms < 1000) for total_ms in totals_ms)
    return RoundSeen(requests=requests, bulk_bytes=10_000_000, bulk_seconds=2.5)


def run(load: OneByOne, seen: RoundSeen | None = None) -> tuple[FakeStage, Outcome[RoundSeen]]:
    fake = FakeStage()
    fake.answers["one_by_one"] = [seen or answer(*TOTALS_MS)]
    return fake, load.run(fake.stage, label="a-b1")


def test_the_default_round_is_that_of_the_article() -> None:
    fake, recorded = run(OneByOne())
    assert fake.did == ["one_by_one"]
    assert fake.asked == [
        Call.of(
            Loadgen.one_by_one,
            Round(
                address=ADDRESS,
                port=PORT,
                fast_path="/small.bin",
                requests=17,
                timeout_s=1.0,
                bulk_path="/bulk.bin",
                bulk_downloads=4,
                trial="a-b1",
            ),
        )
    ]
    assert recorded.record == answer(*TOTALS_MS)
    assert OneByOne().observe(recorded) == ProtocolObservation(
        steal_pct=1.5,
        measuring_s=1.0,
        requests=5,
        timeout_share=0.2,
        total_p50_ms=30.0,
        slowest_tenth_ms=1000.0,
        total_max_ms=1000.0,
        bulk_bytes_per_s=4_000_000.0,
    )


def test_the_call_may_last_as_long_as_all_requests_together() -> None:
    (short, _), (long, _) = run(OneByOne(requests=10, timeout_s=1.0)), run(OneByOne(requests=100, timeout_s=2.0))
    assert [call.lasts_s for call in (*short.asked, *long.asked)] == [10.0, 200.0]


@pytest.mark.parametrize(("requests", "slowest_tenth_ms"), [(1, 1.0), (10, 10.0), (11, 10.5), (20, 19.5), (100, 95.5)])
def test_the_slowest_tenth_contains_at_least_a_tenth_of_the_requests(requests: int, slowest_tenth_ms: float) -> None:
    """The requests take 1 ms, 2 ms and so on, the slowest first."""
    _, recorded = run(OneByOne(), answer(*range(requests, 0, -1)))
    assert OneByOne().observe(recorded).slowest_tenth_ms == about(slowest_tenth_ms)
