"""Tables with a column for each version of nginx: of a scenario's claims, or of the lines of copied configurations."""

from collections.abc import Iterable, Mapping, Sequence

from tools.docs.cells import NOTHING, cells_of, claim_text, folded, plain, threshold_notes, verdict
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import head, row
from tuneproof.report.words import measured
from tuneproof.wording import as_numbers, format_number


def version_table(results: Results, wanted: str) -> str:
    """Return the claims of some scenarios with their verdict on each version, and the newest one's figure.

    KeyError: A scenario has no cell.
    """
    cells = cells_of(results, wanted)
    return _table("claim", [(claim_text(of[0]), of) for of in _by_claim(cells)], results, threshold_notes(cells))


def line_table(results: Results, _wanted: str = "") -> str:
    """Return the verdicts on each line of copied configurations, in the order of the lines.

    KeyError: No cell is about such a line.
    """
    claims = [of for of in _by_claim(results.cells) if of[0].line]
    if not claims:
        raise KeyError("no cell is about a line of a copied configuration")
    claims.sort(key=lambda of: of[0].line.lower())
    return _table("the line", [(f"`{plain(of[0].line)}`: {claim_text(of[0])}", of) for of in claims], results)


def counted_table(results: Results, wanted: str) -> str:
    """Return some metrics of all arms of a scenario that have them; where versions of nginx differ, of each.

    KeyError: No arm of the scenario has such a metric.
    """
    scenario, _, metrics = (part.strip() for part in wanted.partition(":"))
    names = [name.strip() for name in metrics.split(",")]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell in sorted((cell for cell in results.cells if cell.scenario == scenario), key=_version):
        for arm, values in cell.arms.items():
            for name in names:
                if (value := values.get(name)) is not None:
                    found.setdefault(arm, {}).setdefault(name, {})[cell.nginx] = value
    for name in names:
        if not any(name in by_name for by_name in found.values()):
            raise KeyError(f"no arm of {scenario} has the metric {name}")
    heads = ["variant", *names]
    rows = [row([plain(arm), *[_of_versions(by.get(name, {})) for name in names]]) for arm, by in found.items()]
    return "\n".join([*head(heads), *rows])


def _of_versions(values: Mapping[str, float]) -> str:
    """Return a value that is the same on all versions; else each with those that have it."""
    versions: dict[float, list[str]] = {}
    for version, value in values.items():
        versions.setdefault(value, []).append(version)
    if len(versions) < 2:  # noqa: PLR2004 - nothing to tell apart
        return format_number(next(iter(versions))) if versions else NOTHING
    return "; ".join(f"{format_number(value)} ({', '.join(of)})" for value, of in versions.items())


def _version(cell: Cell) -> tuple[int, ...]:
    return as_numbers(cell.nginx)


def _by_claim(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells of each claim, by version, in the order in which the claims come."""
    claims: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        claims.setdefault((cell.scenario, cell.name), []).append(cell)
    return [sorted(of, key=_version) for of in claims.values()]


def _table(first: str, rows: Sequence[tuple[str, list[Cell]]], results: Results, notes: Sequence[str] = ()) -> str:
    versions = sorted({cell.nginx for _, of in rows for cell in of}, key=as_numbers)
    heads = [first, *[f"nginx {version}" for version in versions], "counted", "figure (newest version)"]
    lines = head(heads)
    for said, of in rows:
        by_version = {cell.nginx: cell for cell in of}
        newest = of[-1]
        verdicts = [verdict(by_version[version]) if version in by_version else NOTHING for version in versions]
        name = plain(newest.effect.name) if newest.effect else NOTHING
        lines.append(row([said, *verdicts, name, measured(newest, nothing=NOTHING)]))
    shown = {cell.id for _, of in rows for cell in of}
    return "\n".join([*lines, "", *folded(results, shown, notes)])
