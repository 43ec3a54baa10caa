"""The user's own nginx, with ``--nginx-conf``: a test for each claim on it."""

import pytest

from fixtures.measurements import Prove


@pytest.mark.engine
class TestYours:
    """Claims on what requests through the configuration cost, and on what each patch gains."""

    def test_own_claim(self, own_claim: str, prove: Prove) -> None:
        assert own_claim
        prove()
