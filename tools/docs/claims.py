"""Tables of claims, a row for each: its sentence, its verdict on each version of nginx, and the newest figure."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from tools.docs.cells import NOTHING, cells_of, claim_text, folded, plain, reasons, threshold_notes, verdict
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import head, row
from tuneproof.report.words import before_and_after, outcome
from tuneproof.wording import as_numbers, format_number

MAJORITY: Final = 0.5
CONTROL: Final = "(A/A control)"
"""The end of the sentences of A/A controls (tuneproof/catalogue/aa_control.py); few readers need these claims."""


def verdict_table(results: Results, wanted: str) -> str:
    """Return the claims of some scenarios, with the reasons for their verdicts. KeyError: A scenario has no results."""
    cells = cells_of(results, wanted)
    return _claims(cells, results, reasons(cell for cell in cells if not _is_control([cell])))


def version_table(results: Results, wanted: str) -> str:
    """Return the claims of some scenarios, without reasons. KeyError: A scenario has no results."""
    return _claims(cells_of(results, wanted), results)


def line_table(results: Results, _wanted: str = "") -> str:
    """Return the verdicts on each line in copied configurations, in the order of the lines.

    KeyError: No result is about such a line.
    """
    claims = [of for of in _by_claim(results.cells) if of[0].line]
    if not claims:
        raise KeyError("no result is about a line in a copied configuration")
    claims.sort(key=lambda of: of[0].line.lower())
    rows = [(f"`{plain(of[0].line)}`: {claim_text(of[0])}", of) for of in claims]
    table = _table("the line", rows, _versions(cell for of in claims for cell in of))
    return "\n".join([*table, "", *folded(results, {cell.id for of in claims for cell in of})])


def _by_claim(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the results for each claim on each network, by version, in the order of the claims."""
    claims: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        claims.setdefault((cell.scenario, cell.name, cell.network), []).append(cell)
    return [sorted(of, key=lambda cell: as_numbers(cell.nginx)) for of in claims.values()]


def _claims(cells: Sequence[Cell], results: Results, notes: Sequence[str] = ()) -> str:
    versions = _versions(cells)
    claims = _by_claim(cells)
    table = _table("claim", [(claim_text(of[0]), of) for of in claims if not _is_control(of)], versions)
    controls = [f"- A/A control `{of[0].name}`: {_result(of, versions)}." for of in claims if _is_control(of)]
    fold = folded(results, {cell.id for cell in cells}, [*threshold_notes(cells), *controls])
    return "\n".join([*table, "", *notes, *([""] if notes else []), *fold])


def _is_control(of: Sequence[Cell]) -> bool:
    return of[0].claim.endswith(CONTROL)


def _versions(cells: Iterable[Cell]) -> list[str]:
    return sorted({cell.nginx for cell in cells}, key=as_numbers)


def _table(first: str, rows: Sequence[tuple[str, list[Cell]]], versions: Sequence[str]) -> list[str]:
    # The header names networks and versions only if there are several.
    has_networks = len({cell.network for _, of in rows for cell in of}) > 1
    networks = ["network"] if has_networks else []
    numbers = ", ".join(versions)
    several = f"verdict on nginx {numbers}; newest figure"
    result = several if len(versions) > 1 else "verdict and figure"
    lines = head([first, *networks, result])
    for said, of in rows:
        place = [plain(of[-1].network)] if has_networks else []
        lines.append(row([said, *place, _result(of, versions)]))
    return lines


def _result(of: Sequence[Cell], versions: Sequence[str]) -> str:
    measured = (text for cell in reversed(of) if (text := _measured(cell)) != NOTHING)
    return _with(_verdicts(of, versions), next(measured, NOTHING))


def _with(verdicts: str, measured: str) -> str:
    return verdicts if measured == NOTHING else f"{verdicts}: {measured}"


def _verdicts(of: Sequence[Cell], versions: Sequence[str]) -> str:
    """Return the verdict that all versions share, or else each verdict with its range of versions."""
    by_version = {cell.nginx: verdict(cell) for cell in of}
    said_of = {version: by_version.get(version, NOTHING) for version in versions}
    spans = [(said, [version for version, _ in span]) for said, span in groupby(said_of.items(), lambda of: of[1])]
    if len(spans) == 1:
        return next(iter(said_of.values()))
    return ", ".join(f"{_span(span)} {said}" for said, span in spans if said != NOTHING)


def _span(versions: Sequence[str]) -> str:
    return "–".join(dict.fromkeys((versions[0], versions[-1])))  # noqa: RUF001 - the en dash is meant


def _measured(cell: Cell) -> str:
    """Return the measured values.

    A share of trials has no name, since the claim's sentence states what was counted. Two variants are not named if the
    figures of both are shown. If a majority decides, the interval of "5 of 5" or "0 of 5" is left out, since it is
    always the same (docs/verdicts.md has it).
    """
    effect = cell.effect
    if effect is None:
        return NOTHING
    if effect.of is not None:
        is_majority = cell.threshold == MAJORITY and effect.count in (0, effect.of)
        return f"{format_number(effect.count or 0)} of {format_number(effect.of)}" if is_majority else outcome(cell)
    name, _, variants = effect.name.rpartition(", ")
    has_both_values = name and before_and_after(cell) and " ÷ " in variants
    return f"{plain(name if has_both_values else effect.name)}: {outcome(cell)}"
