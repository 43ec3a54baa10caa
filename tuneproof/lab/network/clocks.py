"""Ways of probes between two machines, whose clocks have nothing in common: pure functions on what an agent answers.

A probe's way there by two clocks is longer than it was by as much as the other clock is ahead, and its way back
shorter. On a link that is not shaped the quickest way there takes as long as the quickest way back, give or take less
than half a round trip; so half of what they differ by is how far the other clock is ahead.
"""

from dataclasses import replace

from tuneproof.lab.protocol.links import PathSeen


def other_ahead_us(seen: PathSeen) -> int:
    """Return how far the answering machine's clock is ahead of the leading one's (ValueError: no probe came back)."""
    if not seen.back:
        raise ValueError(f"none of {seen.sent} probes came back")
    quickest_there = min(there_us for _, there_us in seen.there)
    quickest_back = min(back_us for _, back_us, _ in seen.back)
    return (quickest_there - quickest_back) // 2


def on_one_clock(seen: PathSeen, ahead_us: int) -> PathSeen:
    """Return what the leading agent answered, with each way as one clock would have timed it."""
    return replace(
        seen,
        there=tuple((number, there_us - ahead_us) for number, there_us in seen.there),
        back=tuple((number, back_us + ahead_us, both_us) for number, back_us, both_us in seen.back),
    )
