"""Tests every claim of the catalogue on each version of nginx and each network of the run.

With ``--nginx-conf``, the claims about that configuration replace those of the catalogue.
"""

from collections.abc import Callable

import pytest

from tuneproof.report.results.cells import Cell
from tuneproof.report.results.keys import Key


@pytest.mark.engine
def test_claim(claim: Key, decide: Callable[[Key], Cell], expect: Callable[[Cell], None]) -> None:
    """Measure rounds until the claim is decided, and compare the verdict with the one expected for this version."""
    expect(decide(claim))
