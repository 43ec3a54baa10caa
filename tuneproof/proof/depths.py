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
    """Return the nginx versions for the values of ``--nginx``; without a value, all for a full run, else the default.

    BadInputError: A value does not name a version.
    """
    return choose_versions(asked or ([ALL] if depth == FULL else []))
