"""How deep a run goes: how many blocks a claim may take."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tuneproof.proof.inference.looks import Looks

QUICK: Final = "quick"
FULL: Final = "full"
# Declared here, before anything is measured, and paid for by alpha spending (inference/looks.py).
LOOKS: Final[Mapping[str, Looks]] = MappingProxyType({QUICK: Looks(blocks=(5, 9)), FULL: Looks(blocks=(12, 18, 24))})
