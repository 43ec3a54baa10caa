"""The latest recorded verdicts on the catalogue's claims, on which the advice is based."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from tuneproof.wording import as_numbers

FILE: Final = "recorded.json"
"""The file that tools/docs writes from docs/results.json."""


@dataclass(frozen=True, kw_only=True)
class RecordedVerdict:
    """A recorded verdict."""

    claim: str  # the claim's sentence
    nginx: str  # the measured version
    verdict: str
    effect: str  # the figure with its interval, in words; empty for none
    page: str  # the page of docs/ with more about it
    machine: str  # the machine that measured it, in one line


def recorded_of(scenario: str, claim: str, version: str) -> RecordedVerdict | None:
    """Return the recorded verdict on a claim for a version of nginx; None if there is none.

    This is the verdict on the newest measured version up to the given one; if all are newer, on the oldest.
    """
    found = _document()["cells"].get(f"{scenario}/{claim}")
    if found is None:
        return None
    measured = sorted(found["versions"], key=as_numbers)
    not_newer = [each for each in measured if as_numbers(each) <= as_numbers(version)]
    nginx = (not_newer or measured)[-1 if not_newer else 0]
    cell = found["versions"][nginx]
    machine = _document()["machines"][cell["machine"]]
    return RecordedVerdict(claim=found["claim"], page=found["page"], nginx=nginx, **{**cell, "machine": machine})


def every_recorded() -> dict[str, dict[str, Any]]:
    """Return the records by "scenario/claim": the claim's sentence, its page, and its versions."""
    cells: dict[str, dict[str, Any]] = _document()["cells"]
    return cells


@cache
def _document() -> dict[str, Any]:
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
