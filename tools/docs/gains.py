"""What a run on a configuration of docs/ says at its end: what to change there, and what that gains."""

from pathlib import Path
from typing import Final

from tools.docs.cells import run_line
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.own_nginx import render_gains

FOLDER: Final = Path(__file__).parents[2] / "docs"
_ONLY_FIRST: Final = "first"


def gains_text(_results: Results, wanted: str) -> str:
    """Return the changes with what they gain, as the terminal shows them, and where from.

    Args:
        wanted: Name of results in docs/; with ": first" only the changes are told, without their patches.

    TuneproofError: There are no such results.
    """
    name, _, part = wanted.partition(":")
    own = load(FOLDER / name.strip())
    text = render_gains(own.cells, told=())
    if part.strip() == _ONLY_FIRST:
        text = text.partition("\n\n")[0]
    return "\n".join(["```text", text, "```", "", run_line(own, [cell.id for cell in own.cells])])
