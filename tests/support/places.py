"""Paths in the checkout."""

from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parents[2]
CAPTURES: Final = CHECKOUT / "tests/captures"
