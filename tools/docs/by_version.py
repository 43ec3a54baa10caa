"""Tables with a column for each version of nginx: of a scenario's claims, or of the lines of copied configurations."""

from collections.abc import Iterable, Sequence

from tools.docs.cells import NOTHING, plain, run_line, threshold_notes, verdict
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import row
from tuneproof.report.words import measured
from tuneproof.wording import as_numbers


def version_table(results: Results, wanted: str) -> str:
    """Return the claims of some scenarios with their verdict on each version, and the newest one's figure.

    KeyError: A scenario has no cell.
    """
    names = [name.strip() for name in wanted.split(",")]
    for name in names:
        if not any(cell.scenario == name for cell in results.cells):
            raise KeyError(f"there is no scenario {name}")
    cells = [cell for name in names for cell in results.cells if cell.scenario == name]
    return _table("claim", [(plain(of[0].claim), of) for of in _by_claim(cells)], results, threshold_notes(cells))


def line_table(results: Results, _wanted: str = "") -> str:
    """Return what became of each line that copied configurations have, in the order of the lines.

    KeyError: No cell is about such a line.
    """
    claims = [of for of in _by_claim(results.cells) if of[0].line]
    if not claims:
        raise KeyError("no cell is about a line of a copied configuration")
    claims.sort(key=lambda of: of[0].line.lower())
    return _table("the line", [(f"`{plain(of[0].line)}`: {plain(of[0].claim)}", of) for of in claims], results)


def _by_claim(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells of each claim, by version, in the order in which the claims come."""
    claims: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        claims.setdefault((cell.scenario, cell.name), []).append(cell)
    return [sorted(of, key=lambda cell: as_numbers(cell.nginx)) for of in claims.values()]


def _table(head: str, rows: Sequence[tuple[str, list[Cell]]], results: Results, notes: Sequence[str] = ()) -> str:
    versions = sorted({cell.nginx for _, of in rows for cell in of}, key=as_numbers)
    heads = [head, *[f"nginx {version}" for version in versions], "counted", "figure"]
    lines = [row(heads), row(["---"] * len(heads))]
    for said, of in rows:
        by_version = {cell.nginx: cell for cell in of}
        newest = of[-1]
        verdicts = [verdict(by_version[version]) if version in by_version else NOTHING for version in versions]
        name = plain(newest.effect.name) if newest.effect else NOTHING
        lines.append(row([said, *verdicts, name, measured(newest, nothing=NOTHING)]))
    shown = {cell.id for _, of in rows for cell in of}
    return "\n".join([*lines, "", *notes, *([""] if notes else []), run_line(results, shown)])
