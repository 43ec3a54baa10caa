"""The depth of a run: how many blocks may be measured for a claim."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tuneproof.lab.subject.versions import ALL, choose_versions

QUICK: Final = "quick"
FULL: Final = "full"
# The numbers of blocks at which the data are examined; inference/plan.py computes how many must agree at each.
LOOKS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType({QUICK: (5, 9), FULL: (12, 18, 24)})


def versions_at(depth: str, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the nginx versions that the values of ``--nginx`` name; without a value, all of them for a full run.

    BadInputError: A value does not name a version.
    """
    return choose_versions(asked or ([ALL] if depth == FULL else []))
