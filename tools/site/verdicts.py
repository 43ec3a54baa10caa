"""The page of verdicts by machine and version: ``python -m tools.site.verdicts FOLDER``.

FOLDER contains the results that others sent in (contributed/README.md). They are strangers' files, so they are read
within limits and checked against the schema; only results with ids of our own are shown. The only texts from them on
the page are a line about each machine, and a refused file's name and error, as code that cannot contain HTML or links.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.docs.cells import NOTHING
from tuneproof.errors import BadInputError
from tuneproof.report.results.documents import Results
from tuneproof.report.results.machine import machine_line
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.markdown import row
from tuneproof.report.words import word_of
from tuneproof.wording import one_line

OWN: Final = Path(__file__).parents[2] / "docs" / "results.json"
LARGEST_BYTES: Final = 20_000_000
_MACHINE_CHARACTERS: Final = 200


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The verdicts from one machine."""

    line: str  # its description
    verdicts: Mapping[str, str]  # verdicts by a result's id


def read(file: Path) -> Machine:
    """Read results that somebody sent in.

    Raises BadInputError: The file is a link, too large, or not results from Tuneproof.
    """
    if file.is_symlink() or file.stat().st_size > LARGEST_BYTES:
        raise BadInputError(f"not a plain file of at most {LARGEST_BYTES // 1_000_000} MB", where=str(file))
    return of(load(file))


def of(results: Results) -> Machine:
    """Return the data from some results for the page."""
    line = machine_line(results.parts[0].host)[:_MACHINE_CHARACTERS]
    return Machine(line=line, verdicts={cell.id: word_of(cell.verdict) for cell in results.cells})


def page(own: Results, others: Sequence[Machine], refused: Sequence[str]) -> str:
    """Return the page: for each scenario, a table with a line for each of our results and a column for each machine."""
    machines = [of(own), *others]
    lines = [
        "# Verdicts by version and machine",
        "",
        *(f"- M{at}: {_code(one.line)}" for at, one in enumerate(machines, 1)),
    ]
    if refused:
        lines += ["", "Refused:", "", *(f"- {_code(reason)}" for reason in refused)]
    for scenario in dict.fromkeys(cell.scenario for cell in own.cells):
        lines += ["", f"## {scenario}", "", row(["result", *(f"M{at}" for at in range(1, len(machines) + 1))])]
        lines += [row(["---"] * (len(machines) + 1))]
        for cell in own.cells:
            if cell.scenario == scenario:
                found = [one.verdicts.get(cell.id, NOTHING) for one in machines]
                marks = [f"**{word}**" if word not in {found[0], NOTHING} else word for word in found]
                lines.append(row([f"`{cell.id.partition('/')[2]}`", *marks]))
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', chr(39))}`"


def page_of(folder: Path) -> tuple[str, list[str]]:
    """Return the page with the results in a folder, and the refused files, each with the reason."""
    others, refused = [], []
    for file in sorted(folder.glob("*.json")):
        try:
            others.append(read(file))
        except BadInputError as error:
            refused.append(f"{file.name}: {str(error).splitlines()[0]}")
    return page(load(OWN), others, refused), refused


def main(arguments: Sequence[str]) -> int:
    """Print the page; return 1 if a file was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    text, refused = page_of(parser.parse_args(arguments).folder)
    print(text, end="")  # noqa: T201 - what the command is for
    print(*refused, sep="\n", file=sys.stderr)  # noqa: T201 - what the command is for
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
