"""Finds differences between two versions of nginx that show in all rounds, but not between rounds of one version."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Assessment, Block, Verdict, assess
from tuneproof.wording import format_number
from tuneproof.yours.looks import FIGURES, HEADER, SEPARATOR, WARNS

USUALLY: Final = 0.5
"""A difference is reported if the interval of the share of rounds that show it is above this."""
_NONE: Final = "none"
# The least divisor of a ratio; a ratio to zero is not shown.
_LEAST: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One property at one place, compared between the old and the new version."""

    at: str
    what: str
    before: str
    after: str
    times: float  # the size of the difference: a ratio; 1 for headers and warnings, infinite for other texts
    assessment: Assessment
    """About the share of rounds in which the new version's figure is beyond all figures of the old version."""
    figures: tuple[Mapping[str, float], Mapping[str, float]]  # medians over the rounds, old and new

    @property
    def differs(self) -> bool:
        """Whether every round shows the difference."""
        return self.assessment.verdict is Verdict.HOLDS


def compared(at: str, before: Sequence[Figures], after: Sequence[Figures]) -> list[Comparison]:
    """Compare the observations of the rounds.

    A value that changes in each round, such as a date, an id or an address, is not a difference.
    """
    seen = dict.fromkeys(name for figures in (*before, *after) for name in figures)
    names = [name for name in seen if name in FIGURES or SEPARATOR in name]
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition(SEPARATOR)[0], []).append(name)
    found = [_one(at, what, group, before, after) for what, group in groups.items()]
    # If only one version sends a header, its value need not be reported as well.
    names_of_headers = {
        part for one in found if one.what == HEADER for part in f"{one.before}; {one.after}".split("; ")
    }
    return [one for one in found if one.what.removeprefix(f"{HEADER} ") not in names_of_headers]


def _one(at: str, what: str, names: Sequence[str], before: Sequence[Figures], after: Sequence[Figures]) -> Comparison:
    def of(name: str, rounds: Sequence[Figures]) -> list[float]:
        return [figures.get(name, 0.0) for figures in rounds]

    assessed = {name: _assessed(name, of(name, before), of(name, after)) for name in names}
    differing = [name for name in names if assessed[name].verdict is Verdict.HOLDS]
    medians = [{name: statistics.median(of(name, rounds)) for name in names} for rounds in (before, after)]
    decisive = assessed[(differing or list(names))[0]]
    known = FIGURES.get(what)
    if known is not None:
        old, new = (figures[what] for figures in medians)
        shown = [known.shown(old), known.shown(new)]
        times = max(old, new) / max(min(old, new), _LEAST)
    else:
        shown = [
            "; ".join(name.partition(SEPARATOR)[2] for name in differing if figures[name] > other[name]) or _NONE
            for figures, other in (medians, medians[::-1])
        ]
        times = 1.0 if what.startswith((HEADER, WARNS)) else math.inf
    return Comparison(
        at=at,
        what=known.what if known is not None else what,
        before=shown[0],
        after=shown[1],
        times=times,
        assessment=decisive,
        figures=(_without_rare(medians[0]), _without_rare(medians[1])),
    )


def _without_rare(figures: Figures) -> Figures:
    """Return figures without texts that occur in fewer than half of the rounds."""
    return {name: value for name, value in figures.items() if value or name in FIGURES}


def _assessed(name: str, before: Sequence[float], after: Sequence[float]) -> Assessment:
    margin = FIGURES[name].margin if name in FIGURES else 1.0
    is_more = statistics.median(after) > statistics.median(before)

    def beyond(value: float) -> bool:
        return value > margin * max(before) if is_more else value * margin < min(before)

    blocks = [Block(effect=Tally.yes(when=beyond(value))) for value in after]
    found = assess(blocks, scale=Scale.SHARE, threshold=USUALLY, looks=(len(blocks),))
    if found is None:
        raise ValueError(f"no look is planned after {len(blocks)} rounds")
    return found


def reported(found: Sequence[Comparison]) -> Iterator[str]:
    """Yield the differences in words, the largest first; a difference at several places is reported once."""
    alike: dict[tuple[str, str, str], list[Comparison]] = {}
    for one in sorted((one for one in found if one.differs), key=lambda one: -one.times):
        alike.setdefault((one.what, one.before, one.after), []).append(one)
    for (what, before, after), ones in alike.items():
        places = list(dict.fromkeys(one.at for one in ones))
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        times = ones[0].times
        ratio = f" ({format_number(times)}x)" if 1 < times < 1 / _LEAST else ""
        yield f"{what}: {before} -> {after}{ratio}\n  at {places[0]}{more}"
