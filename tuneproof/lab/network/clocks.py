"""Ways of probes between two machines, whose clocks have nothing in common: pure functions on what an agent answers.

A probe's way there by two clocks is longer than it was by as much as the other clock is ahead, and its way back
shorter. On a link that is not shaped the quickest way there takes as long as the quickest way back, give or take less
than half a round trip; so half of what they differ by is how far the other clock is ahead.
"""

from collections.abc import Mapping
from typing import Any


def other_ahead_us(raw: Mapping[str, Any]) -> int:
    """Return how far the answering machine's clock is ahead of the leading one's.

    Args:
        raw: What the leading agent answered about a link that is not shaped.

    Raises:
        ValueError: No probe came back.
    """
    if not raw["back"]:
        raise ValueError(f"none of {raw['sent']} probes came back")
    quickest_there = min(there_us for _, there_us in raw["there"])
    quickest_back = min(back_us for _, back_us, _ in raw["back"])
    return int(quickest_there - quickest_back) // 2


def on_one_clock(raw: Mapping[str, Any], ahead_us: int) -> dict[str, Any]:
    """Return what the leading agent answered, with each way as one clock would have timed it.

    Args:
        raw: The answer.
        ahead_us: How far the answering machine's clock is ahead.
    """
    return {
        **raw,
        "there": [[number, there_us - ahead_us] for number, there_us in raw["there"]],
        "back": [[number, back_us + ahead_us, both_us] for number, back_us, both_us in raw["back"]],
    }
