"""Confidence limits of shares: how small a share may be, given the observed counts."""

import math
from typing import Final

from tuneproof.explain.parse.figures import Distribution

# 95 %, two-sided, as everywhere in this project.
_TAIL: Final = 0.025
# Above this, Wilson's limit differs from the exact one only in the fourth digit.
_MOST_EXACT: Final = 2_000
_STEPS: Final = 50
_Z: Final = 1.959963984540054


def lower_limit(count: int, of: int) -> float:
    """Return the lower 95 % limit of a share, by Clopper and Pearson; Wilson's for large counts.

    ``of``: the size of the whole; a larger ``count`` is taken as ``of``.
    """
    count = min(count, of)
    if not count:
        return 0.0
    if count == of:
        return float(_TAIL ** (1 / of))
    if count > _MOST_EXACT:
        return _wilson(count, of)
    low, high = 0.0, count / of
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if at_least(count, of, middle) < _TAIL:
            low = middle
        else:
            high = middle
    return low


def at_least(count: int, of: int, share: float) -> float:
    """Return the probability that at least ``count`` of ``of`` occur, if each does with probability ``share``."""
    if share <= 0.0:
        return 0.0
    log_share, log_rest = math.log(share), math.log1p(-share)
    log_all = math.lgamma(of + 1)
    below = sum(
        math.exp(log_all - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * log_share + (of - k) * log_rest)
        for k in range(count)
    )
    return max(0.0, 1.0 - below)


def part_from(times: Distribution, limit: float) -> float:
    """Return the share of values that are certainly at least the limit, according to percentiles."""
    percentiles = ((times.median, 0.5), (times.p90, 0.1), (times.p99, 0.01))
    return next((part for value, part in percentiles if value >= limit), 0.0)


def _wilson(count: int, of: int) -> float:
    share, z2 = count / of, _Z * _Z
    centre = share + z2 / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    return (centre - spread) / (1 + z2 / of)
