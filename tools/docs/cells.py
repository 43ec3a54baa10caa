"""What all tables of the pages say of a cell in the same way."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.words import expired_since, limit, word_of
from tuneproof.wording import each_once, one_line

NOTHING: Final = "-"


def cells_of(results: Results, wanted: str) -> list[Cell]:
    """Return the cells of some scenarios, separated by commas, in that order. KeyError: One has no cell."""
    names = [name.strip() for name in wanted.split(",")]
    for name in names:
        if not any(cell.scenario == name for cell in results.cells):
            raise KeyError(f"there is no scenario {name}")
    return [cell for name in names for cell in results.cells if cell.scenario == name]


def verdict(cell: Cell) -> str:
    """Return a cell's verdict, with what was expected where that is something else."""
    marks = []
    if cell.contradicts:
        marks.append(f"expected: {cell.expected}")
    if expired_since(cell):
        marks.append("expired")
    if cell.exploratory:
        marks.append("*exploratory*")
    shown = f"**{word_of(cell.verdict)}**"
    return f"{shown} ({', '.join(marks)})" if marks else shown


def claim_text(cell: Cell) -> str:
    """Return a claim's sentence with its name, which is what ``-k`` takes."""
    return f"{plain(cell.claim)} (`{cell.name}`)" if cell.name else plain(cell.claim)


def threshold_notes(cells: Iterable[Cell]) -> list[str]:
    """Return the reason of each threshold, once for all claims that share it, and what makes a claim exploratory."""
    claims_of: dict[tuple[str, str], list[str]] = {}
    exploratory: dict[str, str] = {}
    for cell in cells:
        if cell.why and (asked := limit(cell)):
            claims_of.setdefault((asked, cell.why), []).append(f"`{cell.name}`")
        if cell.exploratory:
            exploratory[cell.name] = cell.exploratory
    notes = [
        f"- Threshold {asked}, {', '.join(dict.fromkeys(names))}: {plain(why)}."
        for (asked, why), names in claims_of.items()
    ]
    return [*notes, *[f"- `{name}` is *exploratory*: {plain(why)}." for name, why in exploratory.items()]]


def folded(results: Results, shown: Collection[str], notes: Sequence[str] = ()) -> list[str]:
    """Return the lines of what few readers open: thresholds, and where the figures of some cells come from."""
    what = "Thresholds, machine and seed" if notes else "Machine and seed"
    fold = f'<details markdown="1"><summary>{what}</summary>'  # markdown: for Python-Markdown; GitHub needs none
    return [fold, "", *notes, *([""] if notes else []), run_line(results, shown), "", "</details>"]


def run_line(results: Results, shown: Collection[str]) -> str:
    """Return which runs the figures of some cells come from: when, how deep, with which seed, on which machine."""
    parts = results.measured_by(shown)
    versions = ", ".join(dict.fromkeys(cell.nginx for cell in results.cells if cell.id in shown))
    machines = each_once(results.machine(run, shown) for run in parts)
    days = each_once(run.started[:10] for run in parts)
    depths = each_once(str(run.options.get("depth", "?")) for run in parts)
    seeds = each_once(str(run.seed) for run in parts)
    return plain(f"Measured on {days} with nginx {versions} (depth {depths}, seed {seeds}) on {machines}.")


def plain(text: str) -> str:
    """Return text of results on one line of a table, without a tag or a column of its own."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
