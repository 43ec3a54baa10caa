"""Every claim of the catalogue in brief, with the place of its declaration: enough to select claims, without a lab."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tuneproof.catalogue import every_advice

if TYPE_CHECKING:
    from tuneproof.catalogue.advice import Advice

TIMING: Final = "timing"
HEADLINE: Final = "headline"
FULL_DEPTH: Final = "full_depth"
_PACKAGE: Final = Path(__file__).resolve().parents[1]
# A row of error_messages yields several claims, each with the row's id in its name.
_MADE_OF_ROWS: Final = re.compile(r"(?:\w+_ends_)?(\w+?)(?:_appears)?")


class Declared(NamedTuple):
    """A claim, as far as a selection needs it."""

    scenario: str
    claim: str  # its name
    about: str  # the claim's sentence and source, and the line of a configuration that it is about
    marks: tuple[str, ...]  # those of TIMING, HEADLINE and FULL_DEPTH that apply
    place: str  # file and line of its declaration, such as "tuneproof/lines/streams.toml:12"


def declared_claims() -> tuple[Declared, ...]:
    """Return every claim, in the order of the scenarios' names."""
    return tuple(found for advice in every_advice() for found in _declared(advice))


def _declared(advice: "Advice") -> Iterator[Declared]:
    for claim in advice.usual.claims:
        marks = {
            TIMING: advice.timed,
            HEADLINE: claim.name in advice.headlines,
            FULL_DEPTH: claim.name in advice.full_depth,
        }
        yield Declared(
            scenario=advice.name,
            claim=claim.name,
            about=" ".join(filter(None, (claim.sentence, claim.source, claim.line))),
            marks=tuple(name for name, is_so in marks.items() if is_so),
            place=place_of(advice.name, claim.name),
        )


def place_of(scenario: str, claim: str) -> str:
    """Return the file and line of a claim's row, or of its name in a module; the package's name if there is neither."""
    for name in (claim, *re.findall(_MADE_OF_ROWS, claim)):
        if places := _places().get(name):
            path, line = min(
                places, key=lambda place: (_is_elsewhere(place[0], scenario), place[0].suffix == ".py", place)
            )
            return f"{path.relative_to(_PACKAGE.parent)}:{line}"
    return str(_PACKAGE.name)


def _is_elsewhere(path: Path, scenario: str) -> bool:
    """Tell whether a file is about another scenario."""
    return scenario not in (path.stem, path.parent.name) and not path.stem.startswith(scenario)


@cache
def _places() -> Mapping[str, Sequence[tuple[Path, int]]]:
    """Return, by word, the files and lines that contain it in quotes."""
    places = defaultdict(list)
    for path in (*(_PACKAGE / "lines").rglob("*.toml"), *(_PACKAGE / "catalogue").glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            for word in re.findall(r'"(\w+)(?=")', line):
                places[word].append((path, number))
    return places
