"""The named network profiles, and the user's choice of networks."""

import json

import pytest

from tuneproof.errors import BadInputError
from tuneproof.lab.network.profiles import PROFILES, choose_networks


def test_only_the_bare_network_is_unshaped_and_all_profiles_differ() -> None:
    assert len({repr(profile.links) for profile in PROFILES.values()}) == len(PROFILES)
    assert [name for name, profile in PROFILES.items() if not profile.shapes] == ["bare"]


def test_results_contain_each_direction_and_null_for_an_unshaped_one() -> None:
    """An unshaped direction has no queue, so a limit would be misleading."""
    written = json.loads(json.dumps(PROFILES["slow-client"].to_json()))
    assert set(written) == {"name", "summary", "client", "backend"}
    assert written["name"] == "slow-client"
    assert (written["client"]["egress"]["rate_mbit"], written["client"]["ingress"]["rate_mbit"]) == (2, 10)
    assert written["backend"] == {"egress": None, "ingress": None}


@pytest.mark.parametrize(
    ("requested", "names"),
    [
        ([], ["bare"]),
        (["wan", "lan"], ["wan", "lan"]),
        (["wan", "bare", "wan"], ["wan", "bare"]),
        (["delay=20ms,rate=100mbit"], ["wan"]),
        (["client.rate=100mbit,client.delay=20000us", "wan"], ["wan"]),
        (["loss=0%"], ["bare"]),
        (["Delay = 3ms", "delay=3000us", "lan"], ["delay=3ms", "lan"]),
    ],
    ids=["default", "as-given", "repeated", "same-as-named", "same-twice", "nothing", "own"],
)
def test_each_network_is_used_once_in_the_given_order(requested: list[str], names: list[str]) -> None:
    """Equal settings are the same network."""
    assert [profile.name for profile in choose_networks(requested)] == names


def test_the_error_for_an_unknown_network_lists_the_known_ones_and_an_example() -> None:
    with pytest.raises(BadInputError) as caught:
        choose_networks(["wan", "moon"])
    assert caught.value.what == "--network moon: no such network"
    assert caught.value.remedy == (
        "use one of: bare, lan, wan, lossy, unruly, jittery, slow-client, fast-backend, slow-backend, distant-backend; "
        "or settings of your own, such as delay=20ms,loss=1%,rate=50mbit"
    )
