"""What to change in the user's own nginx, from the cells that were decided on it."""

from collections.abc import Iterator, Sequence
from typing import Final

from tuneproof.report.results.cells import Cell, Remedy
from tuneproof.report.words import before_and_after, measured
from tuneproof.wording import one_line

_DECIDED: Final = ("holds", "refuted")


def render_gains(cells: Sequence[Cell], *, told: Sequence[str]) -> str:
    """Return what to change, the largest gain first, what would gain nothing, and what was made around it.

    ``told``: what is made or changed around the configuration, and what is left out, in words.
    """
    gains = [cell for cell in cells if cell.remedy and cell.verdict == "holds" and cell.effect]
    gains.sort(key=lambda cell: cell.effect.value if cell.effect else 0.0, reverse=True)
    nothing = [cell for cell in cells if cell.remedy and cell.verdict == "refuted"]
    parts = ["\n".join(_gains(gains)) if gains else "Nothing that is proven here would gain anything."]
    if nothing:
        parts.append("\n".join(["Of no use here:", *(f"  {_line(cell)}" for cell in nothing)]))
    if remarks := [
        f"  {cell.name}: {one_line(cell.reason)}" for cell in cells if cell.reason and cell.verdict in _DECIDED
    ]:
        parts.append("\n".join(["Mind:", *remarks]))
    if told:
        parts.append("\n".join(["Around your files:", *(f"  {one_line(line)}" for line in told)]))
    return "\n\n".join(parts)


def _gains(cells: Sequence[Cell]) -> Iterator[str]:
    yield "What to change, the largest gain first:"
    patches: dict[str, Remedy] = {}
    for cell in cells:
        yield f"  {_line(cell)}"
        if cell.remedy is not None:
            patches.setdefault(cell.remedy.patch, cell.remedy)
    for remedy in patches.values():
        yield ""
        yield f"To {remedy.what}:"
        yield remedy.patch.rstrip()


def _line(cell: Cell) -> str:
    """Return what a change does to its figure, in the figure's own unit."""
    effect = f" ({measured(cell)})" if cell.effect else ""
    return f"{one_line(cell.claim)}: {before_and_after(cell)}{effect}"
