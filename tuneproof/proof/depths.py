"""How deep a run goes: how many blocks a claim may take."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tuneproof.lab.subject.versions import ALL, choose_versions
from tuneproof.proof.inference.looks import Looks

QUICK: Final = "quick"
FULL: Final = "full"
# Declared here, before anything is measured, and paid for by alpha spending (inference/looks.py).
LOOKS: Final[Mapping[str, Looks]] = MappingProxyType({QUICK: Looks(blocks=(5, 9)), FULL: Looks(blocks=(12, 18, 24))})


def versions_at(depth: str, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the versions of nginx for the values of ``--nginx``; without any, a full run takes all.

    Raises:
        BadInputError: A value names no version.
    """
    return choose_versions(asked or ([ALL] if depth == FULL else []))
