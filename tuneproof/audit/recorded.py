"""What the catalogue's claims came to when they were last recorded: the verdicts that stand behind advice."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

FILE: Final = "recorded.json"
"""Written by tools/docs from docs/results.json."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded verdict.

    Attributes:
        claim: The claim's sentence.
        nginx: The version that it was measured on.
        verdict: The verdict.
        effect: The figure with its interval, in words; empty for none.
        page: The page of docs/ that says more.
    """

    claim: str
    nginx: str
    verdict: str
    effect: str
    page: str


def recorded_of(scenario: str, claim: str) -> Recorded | None:
    """Return what was recorded of a claim; None if nothing was."""
    found = _document()["cells"].get(f"{scenario}/{claim}")
    return None if found is None else Recorded(**found)


def machine() -> str:
    """Return on which machine it was measured."""
    return str(_document()["machine"])


@cache
def _document() -> dict[str, Any]:
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
