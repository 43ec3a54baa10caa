"""Changes to the user's own nginx, from the decided results."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from tuneproof.report.results.cells import Cell, Remedy
from tuneproof.report.words import before_and_after, measured
from tuneproof.wording import count, one_line

_DECIDED: Final = ("holds", "refuted")
_MEASURED: Final = "measured change gains anything here"
_UNMEASURED: Final = "change was measured"
_SHOWN_OF_THE_LAB: Final = 3
_MINUTE_S: Final = 60
# How the names of claims about one place end: for the effect, and for the change that prevents it.
_CURES: Final = {"_connects_every_time": "_patch_keeps_connections", "_delivers_events": "_patch_delivers_events"}


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A change, with the results that show its gain, the largest first."""

    number: int
    remedy: Remedy
    cells: Sequence[Cell]

    @property
    def file(self) -> str:
        """The name of the file that the change is written to."""
        return f"{self.number}.sysctl.conf" if self.remedy.reaches_others else f"{self.number}.patch"


def gains_of(cells: Sequence[Cell]) -> list[Gain]:
    """Return the changes with a gain; those only to be considered come last, and equal patches are merged."""
    held = {cell.name for cell in cells if cell.verdict == "holds"}
    found: dict[tuple[bool, str], list[Cell]] = {}
    for cell in cells:
        remedy = cell.remedy
        if remedy and cell.name in held and cell.effect and (not remedy.only_if or remedy.only_if in held):
            found.setdefault((remedy.is_a_choice, remedy.patch), []).append(cell)
    gains = []
    for number, key in enumerate(sorted(found, key=lambda key: key[0]), start=1):
        group = sorted(found[key], key=lambda cell: -(cell.effect.value if cell.effect else 0.0))
        gains += [Gain(number=number, remedy=cell.remedy, cells=group) for cell in group[:1] if cell.remedy]
    return gains


def render_own(cells: Sequence[Cell], *, left_out: Sequence[str] = ()) -> str:
    """Return what to change, what to consider, what is fine, and what was not decided or not tested.

    ``left_out``: parts of the configuration without a result, in words.
    """
    gains = gains_of(cells)
    changes = [gain for gain in gains if not gain.remedy.is_a_choice]
    sections = {
        "CHANGE": chain.from_iterable(map(_gain, changes))
        if changes
        else [f"  nothing: no {_MEASURED if any(cell.remedy for cell in cells) else _UNMEASURED}"],
        "CONSIDER": chain.from_iterable(_gain(gain) for gain in gains if gain.remedy.is_a_choice),
        "ALREADY FINE": _fine(cells),
        # Effects that no change prevents.
        "SEEN": _contrary(cells, gains),
        "NOTE": (f"  {one_line(reason)}" for reason in _reasons(cells, decided=True)),
        "NOT DECIDED": _undecided(cells),
        "NOT TESTED": (f"  {one_line(line)}" for line in left_out),
    }
    blocks = [[title, *lines] for title, lines in sections.items()]
    return "\n\n".join("\n".join(block) for block in blocks if len(block) > 1)


def render_head(name: str, chosen: Sequence[str], cells: Sequence[Cell], *, seconds: float) -> str:
    """Return what was tested, on which nginx, how long it took, and how noisy the machine was."""
    versions = ", ".join(dict.fromkeys(cell.nginx for cell in cells))
    because = f" ({'; '.join(chosen)})" if chosen else ""
    minutes, rest = divmod(round(seconds), _MINUTE_S)
    lines = [f"{name}, tested on nginx {versions}{because}", f"{count(len(cells), 'check')} in {minutes}:{rest:02d}"]
    if noises := [cell.host_noise for cell in cells if cell.host_noise]:
        usual, most = (
            choose(noise[name] for noise in noises)
            for choose, name in ((statistics.median, "lost_p50_pct"), (max, "lost_max_pct"))
        )
        lines[-1] += f"; CPU lost to neighbours: {usual:.0f} % median, {most:.0f} % max"
    return "\n".join(lines)


def render_lab(around: Sequence[str]) -> str:
    """Return what the lab added or changed around the files, in one line; the report has all of it."""
    if not around:
        return "Added for the lab: nothing"
    more = len(around) - _SHOWN_OF_THE_LAB
    shown = "; ".join(map(one_line, around[:_SHOWN_OF_THE_LAB]))
    return f"Added for the lab: {shown}{f'; {more} more in the report' if more > 0 else ''}"


def _gain(gain: Gain) -> Iterator[str]:
    remedy, first = gain.remedy, gain.cells[0]
    yield f"{gain.number} {remedy.at}  {_figures(first)}"
    for cell in gain.cells:
        place = cell.remedy.place if cell.remedy else ""
        if place:
            yield f"    at {place}" if cell is first else f"    at {place}: {before_and_after(cell)}"
    if remedy.cost:
        yield f"    cost: {remedy.cost}"
    yield f"    to apply: {gain.file}"


def _figures(cell: Cell) -> str:
    gains = (cell.remedy.gains if cell.remedy else "") or cell.claim
    return f"{one_line(gains)}: {before_and_after(cell) or measured(cell)}"


def _fine(cells: Sequence[Cell]) -> Iterator[str]:
    asked = [(cell.fine, cell.verdict) for cell in cells if cell.fine]
    for what in dict.fromkeys(fine.what for fine, _ in asked):
        verdicts = [fine.verdict == verdict for fine, verdict in asked if fine.what == what]
        if any(verdicts):
            yield f"  {what} ({sum(verdicts)} of {count(len(verdicts), 'place')})"
    for cell in cells:
        if cell.remedy and cell.verdict == "refuted" and not cell.remedy.is_a_choice:
            at = f" at {cell.remedy.place}" if cell.remedy.place else ""
            yield f"  no gain in: {cell.remedy.what}{at}; {_figures(cell)}"


def _contrary(cells: Sequence[Cell], gains: Sequence[Gain]) -> Iterator[str]:
    gaining = [cell for gain in gains for cell in gain.cells]
    cured = {cell.remedy.only_if for cell in gaining if cell.remedy}
    cured |= {cell.name.replace(after, before) for cell in gaining for before, after in _CURES.items()}
    for cell in cells:
        if cell.fine is None or cell.name in cured:
            continue
        if cell.verdict in _DECIDED and cell.verdict != cell.fine.verdict:
            yield f"  {one_line(cell.claim)}: {cell.verdict}, {measured(cell)}"


def _undecided(cells: Sequence[Cell]) -> Iterator[str]:
    undecided = [cell for cell in cells if cell.verdict not in _DECIDED]
    for reason in _reasons(undecided, decided=False):
        alike = [cell for cell in undecided if cell.reason == reason]
        what = one_line(alike[0].claim) if len(alike) == 1 else count(len(alike), "check")
        yield f"  {what}{f': {one_line(reason)}' if reason else ''}"
    if again := [cell.name for cell in undecided if cell.verdict == "inconclusive"]:
        yield f"  rerun the inconclusive ones: --depth full -k '{' or '.join(again)}'"


def _reasons(cells: Sequence[Cell], *, decided: bool) -> list[str]:
    """Return results' reasons, each once; decided results may have none."""
    reasons = (cell.reason for cell in cells if (cell.verdict in _DECIDED) == decided)
    return [reason for reason in dict.fromkeys(reasons) if reason or not decided]
