"""Effects that several scenarios share."""

import pytest

from fixtures.scenario.effects import closeness


@pytest.mark.parametrize(
    ("found", "claimed", "share"),
    [(129, 129, 0.0), (98, 100, -0.02), (102, 100, -0.02), (0, 100, -1.0), (300, 100, -2.0), (0.49, 0.5, -0.02)],
)
def test_closeness_is_the_distance_as_a_negative_share_of_what_is_claimed(
    found: float, claimed: float, share: float
) -> None:
    """Too much is as far away as too little, and exact is the largest."""
    assert closeness(found, claimed) == pytest.approx(share)


def test_a_claim_of_within_two_percent_has_its_threshold_on_this_scale() -> None:
    """What is nearer lies above it, on either side."""
    assert closeness(101, 100) > -0.02
    assert closeness(99, 100) > -0.02
    assert closeness(97, 100) < -0.02
    assert closeness(103, 100) < -0.02
