"""How slow an engine is, by how long it takes to start a container: all else then takes longer by the same factor."""

from typing import Final

_USUAL_START_S: Final = 0.5
"""Starts within it are no slower than usual. A container without networks takes 0.06 to 0.15 s on two CPUs, also from a
cold cache and beside a busy neighbour."""


def patience_of(start_s: float) -> float:
    """Return how many times longer than usual an engine takes, at least 1, if a container's start took so long."""
    return max(1.0, start_s / _USUAL_START_S)
