"""Parts of pages from files in docs/ other than results.json: a run on a user's own files, diagnoses, error rates."""

import json
from pathlib import Path
from typing import Final

from tools.docs.cells import run_line
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.markdown import head, row
from tuneproof.report.terminal.own_nginx import gains_of as changes_of
from tuneproof.report.terminal.own_nginx import render_own

FOLDER: Final = Path(__file__).parents[2] / "docs"
_ONLY_FIRST: Final = "first"


def gains_text(_results: Results, wanted: str) -> str:
    """Return the changes with their gains, as the terminal shows them, and their source.

    Args:
        wanted: The name of results in docs/; with ": first", only the changes are shown, without their patches.

    TuneproofError: There are no such results.
    """
    name, _, part = wanted.partition(":")
    return gains_of(load(FOLDER / name.strip()), only_first=part.strip() == _ONLY_FIRST)


def gains_of(own: Results, *, only_first: bool = False) -> str:
    """Return the changes with their gains on a user's own files; with ``only_first``, without their patches."""
    text = render_own(own.cells)
    if not only_first:
        text = "\n\n".join([text, *(f"{gain.file}\n{gain.remedy.patch.rstrip()}" for gain in changes_of(own.cells))])
    return "\n".join(["```text", text, "```", "", run_line(own, [cell.id for cell in own.cells])])


def errors_table(_results: Results, wanted: str) -> str:
    """Return the table; ``wanted`` is the name of a file in docs/ that ``python -m tools.replay`` wrote."""
    file = FOLDER / wanted.strip()
    if not file.exists():
        return "Not replayed yet: run `python -m tools.replay RESULTS`."
    document = json.loads(file.read_text(encoding="utf-8"))
    lines = head(("form", "replayed", "wrongly *holds* (at most)", "wrongly *refuted* (at most)"))
    for rate in document["rates"]:
        wrong = (rate["wrong_holds"], rate["wrong_refuted"])
        cells = [f"{count} ({limit:.1%})" for count, limit in zip(wrong, rate["upper_limits"], strict=True)]
        lines.append(row([rate["form"], rate["replay"], *cells]))
    experiments = " or ".join(dict.fromkeys(str(rate["experiments"]) for rate in document["rates"]))
    blocks = f"{document['blocks']} blocks of {document['cells']} recorded results"
    source = f"{experiments} experiments each, with {blocks}. {document['measured']}"
    return "\n".join([*lines, "", source])


_PLACES: Final = {"nginx.pcap.gz": "at nginx", "client.pcap.gz": "at the client", "backend.pcap.gz": "at the backend"}
_COUNTED: Final = ("right", "nothing", "wrong")


def diagnoses_table(_results: Results, wanted: str) -> str:
    """Return the table, with the counts right/nothing/wrong in each cell, and its source.

    Args:
        wanted: The name of a file in docs/ that ``python -m tools.diagnoses --json`` wrote.
    """
    document = json.loads((FOLDER / wanted.strip()).read_text(encoding="utf-8"))
    found = {(each["built"], each["captured"], each["whole"]): each for each in document["sets"]}
    lines = head(("cause created", *_PLACES.values(), *(f"a file missing, {place}" for place in _PLACES.values())))
    for built in dict.fromkeys(each["built"] for each in document["sets"]):
        sets = [found[built, captured, whole] for whole in (True, False) for captured in _PLACES]
        lines.append(row([built, *("/".join(str(each[name]) for name in _COUNTED) for each in sets)]))
    return "\n".join([*lines, "", str(document["measured"])])
