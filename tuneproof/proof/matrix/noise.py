"""Which of several engines is too noisy to go on beside calmer ones."""

import statistics
from collections.abc import Iterable, Mapping

from tuneproof.proof.scenario.host_noise import is_noisy_beside
from tuneproof.report.results.cells import Cell


def noise_of(cells: Iterable[Cell]) -> float | None:
    """Return the median of what a spinning process lost before the cells' blocks, in percent; None if nobody looked."""
    lost_pct = [cell.host_noise["lost_p50_pct"] for cell in cells if cell.host_noise]
    return statistics.median(lost_pct) if lost_pct else None


def calmer_than(engine: str, noise_pct: Mapping[str, float]) -> str | None:
    """Return the calmest engine if this one is too noisy beside it; None if this one may go on."""
    calmest = min(noise_pct, key=noise_pct.__getitem__)
    return calmest if is_noisy_beside(noise_pct[engine], noise_pct[calmest]) else None
