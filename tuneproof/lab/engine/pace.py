"""An engine's pace, estimated from the start of a container: everything else should take longer by the same factor."""

from typing import Final

_USUAL_START_S: Final = 0.5
"""The usual maximum for a start. A container without networks takes 0.06 to 0.15 s on two CPUs, even with a cold cache
and a busy neighbour."""


def patience_of(start_s: float) -> float:
    """Return how many times slower than usual an engine is, at least 1, from the time of a container's start."""
    return max(1.0, start_s / _USUAL_START_S)
