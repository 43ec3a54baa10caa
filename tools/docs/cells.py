"""The parts of a result that all tables on the pages show in the same way."""

import re
from collections.abc import Collection, Iterable, Sequence
from string import ascii_uppercase
from typing import Final

from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results, Run
from tuneproof.report.results.machine import machine_line, shapers_of
from tuneproof.report.words import expired_since, limit, word_of
from tuneproof.wording import as_numbers, each_once, one_line

NOTHING: Final = "-"
MACHINES: Final = "verdicts.md#machines"
_MET: Final = re.compile(r" in (\d+) of \1 (?:blocks|rounds)$")
"""The end of a reason about a condition that every round met."""


def cells_of(results: Results, wanted: str) -> list[Cell]:
    """Return the results of some scenarios, separated by commas, in that order. KeyError: One has no results."""
    names = [name.strip() for name in wanted.split(",")]
    for name in names:
        if not any(cell.scenario == name for cell in results.cells):
            raise KeyError(f"there is no scenario {name}")
    return [cell for name in names for cell in results.cells if cell.scenario == name]


def verdict(cell: Cell) -> str:
    """Return a result's verdict, with remarks: the expected verdict if that differs, expired, exploratory."""
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
    """Return a claim's sentence with its name, for ``-k``."""
    return f"{plain(cell.claim)} (`{cell.name}`)" if cell.name else plain(cell.claim)


def threshold_notes(cells: Sequence[Cell]) -> list[str]:
    """Return each threshold with the claims that share it, and why claims are exploratory.

    The most common threshold comes last, without its claims. ``./lab why`` has the reason for each.
    """
    claims_of: dict[str, dict[str, None]] = {}
    exploratory: dict[str, dict[str, None]] = {}
    for cell in cells:
        if asked := limit(cell):
            claims_of.setdefault(asked, {})[f"`{cell.name}`"] = None
        if cell.exploratory:
            exploratory.setdefault(cell.exploratory, {})[f"`{cell.name}`"] = None
    by_size = sorted(claims_of.items(), key=lambda item: len(item[1]))
    notes = [f"- {_sentence(asked)}: {', '.join(claims)}." for asked, claims in by_size[:-1]]
    notes += [f"- {_sentence(asked)}: {'all others' if notes else 'all'}." for asked, _ in by_size[-1:]]
    return [*notes, *(f"- *Exploratory*, {', '.join(names)}: {plain(why)}." for why, names in exploratory.items())]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def reasons(cells: Iterable[Cell]) -> list[str]:
    """Return the reasons for results' verdicts, each once, with its claims; without conditions that all rounds met."""
    shown = list(cells)
    claims_of: dict[str, list[str]] = {}
    for cell in shown:
        for reason in filter(None, cell.reason.split("; ")):
            if not _MET.search(reason):
                claims_of.setdefault(reason, []).append(f"`{cell.name or cell.id}`")
    parts: dict[str, list[str]] = {}
    for reason, names in claims_of.items():
        is_of_all = len(names) == len(shown) > 1
        of = "all of these claims" if is_of_all else ", ".join(dict.fromkeys(names))
        # Results from before 2026-11-27 call a round a block.
        parts.setdefault(of, []).append(plain(reason.replace(" blocks", " rounds")))
    return [f"- {names}: {'; '.join(of)}." for names, of in parts.items()]


def folded(results: Results, shown: Collection[str], notes: Sequence[str] = ()) -> list[str]:
    """Return a folded section: the notes, and the runs that measured some results."""
    what = "Thresholds, machine, seed" if notes else "Machine, seed"
    fold = f'<details markdown="1"><summary>{what}</summary>'  # Python-Markdown needs the attribute
    shapers = shapers_of(cell for cell in results.cells if cell.id in shown)
    machines = each_once(_short_name(results, run) for run in results.measured_by(shown))
    run = _run(results, shown, ", ".join([machines, *shapers]), names_versions=False)
    return [fold, "", *notes, *([""] if notes else []), run, "", "</details>"]


def run_line(results: Results, shown: Collection[str]) -> str:
    """Return a sentence on the runs that measured some results: date, versions, depth, seed and machine."""
    return _run(results, shown, each_once(results.machine(run, shown) for run in results.measured_by(shown)))


def machine_names(results: Results) -> dict[str, str]:
    """Return a short name for each machine that measured (A, B and so on), by its line of facts."""
    machines = dict.fromkeys(machine_line(run.host) for run in results.parts)
    return dict(zip(machines, ascii_uppercase, strict=False))


def _run(results: Results, shown: Collection[str], machines: str, *, names_versions: bool = True) -> str:
    parts = results.measured_by(shown)
    versions = ", ".join(sorted({cell.nginx for cell in results.cells if cell.id in shown}, key=as_numbers))
    days = each_once(sorted({run.started[:10] for run in parts}))
    depths = each_once(str(run.options.get("depth", "?")) for run in parts)
    seeds = each_once(str(run.seed) for run in parts)
    # The header of a table with several versions lists them.
    nginx = f" with nginx {versions}" if names_versions or ", " not in versions else ""
    return plain(f"Measured on {days}{nginx} (depth {depths}, seed {seeds}) on {machines}.")


def _short_name(results: Results, run: Run) -> str:
    return f"[machine {machine_names(results)[machine_line(run.host)]}]({MACHINES})"


def plain(text: str) -> str:
    """Return text from results for a line of a table, so that it cannot add a tag or a column."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
