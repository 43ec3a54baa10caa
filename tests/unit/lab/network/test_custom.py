"""A line of settings becomes a network profile, or an error with all of its faults."""

from typing import Any

import pytest

from tuneproof.errors import BadInputError
from tuneproof.lab.network.custom import EXAMPLE, parse_custom
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile


def faults(text: str) -> str:
    """Return the message about a text, without the text itself."""
    with pytest.raises(BadInputError) as caught:
        parse_custom(text)
    assert caught.value.what.startswith(f"--network {text}: ")
    assert caught.value.remedy == f"write it like {EXAMPLE}"
    return caught.value.what.removeprefix(f"--network {text}: ")


@pytest.mark.parametrize(
    ("setting", "fields"),
    [
        ("delay=700us", {"delay_ms": 0.7}),
        ("delay=20ms", {"delay_ms": 20}),
        ("delay=0.3s", {"delay_ms": 300}),
        ("delay=2ms,jitter=.5ms", {"delay_ms": 2, "jitter_ms": 0.5}),
        ("loss=1.5%", {"loss_pct": 1.5}),
        ("duplicate=2%", {"duplicate_pct": 2}),
        ("delay=1ms,reorder=10%", {"delay_ms": 1, "reorder_pct": 10}),
        ("corrupt=3%", {"corrupt_pct": 3}),
        ("rate=500kbit", {"rate_mbit": 0.5}),
        ("rate=50mbit", {"rate_mbit": 50}),
        ("rate=2gbit", {"rate_mbit": 2000}),
        ("rate=50mbit,limit=1000", {"rate_mbit": 50, "limit_packets": 1000}),
    ],
)
def test_a_setting_is_read_in_its_unit(setting: str, fields: dict[str, Any]) -> None:
    profile = parse_custom(setting)
    assert profile.client == LinkProfile.both(Impairment(**fields))
    assert not profile.backend.shapes


@pytest.mark.parametrize(
    ("text", "shaped"),
    [
        ("rate=7mbit", ["client.egress", "client.ingress"]),
        ("client.rate=7mbit", ["client.egress", "client.ingress"]),
        ("backend.rate=7mbit", ["backend.egress", "backend.ingress"]),
        ("egress.rate=7mbit", ["client.egress"]),
        ("client.ingress.rate=7mbit", ["client.ingress"]),
        ("backend.egress.rate=7mbit,client.ingress.rate=7mbit", ["client.ingress", "backend.egress"]),
    ],
)
def test_a_prefix_chooses_the_link_and_the_direction(text: str, shaped: list[str]) -> None:
    """The default is the client's link, in both directions."""
    profile = parse_custom(text)
    found = {
        f"{link}.{direction}": impairment
        for link, item in profile.links.items()
        for direction, impairment in item.directions.items()
    }
    assert [name for name, impairment in found.items() if impairment == Impairment(rate_mbit=7)] == shaped
    assert [name for name, impairment in found.items() if impairment == Impairment()] == [
        name for name in found if name not in shaped
    ]


def test_spaces_and_capitals_do_not_matter() -> None:
    """The name is the text without spaces, in lower case; tc accepts capitals, too."""
    profile = parse_custom(" Delay = 20 ms, rate=50Mbit ")
    assert profile == parse_custom("delay=20ms,rate=50mbit")
    assert profile.name == "delay=20ms,rate=50mbit"
    assert profile.summary == "The settings delay=20ms,rate=50mbit."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("delay=20min", "delay=20min: 20 needs one of the units us, ms, s, not min"),
        ("loss=1", "loss=1: 1 needs one of the units %"),
        ("rate=5mbps", "rate=5mbps: 5 needs one of the units kbit, mbit, gbit, not mbps"),
        ("rate=1mbit,limit=10p", "limit=10p: 10 needs no unit, not p"),
        ("delay=soon", "delay=soon: the value must be a number with one of the units us, ms, s"),
        ("delay=", "delay=: the value must be a number with one of the units us, ms, s"),
        ("rate=1mbit,limit=x", "limit=x: the value must be a number with no unit"),
        ("delay=-1ms", "delay=-1ms: delay_ms: -1 is not between 0 and 10000"),
        ("delay=1ms,delay=2ms", "delay=2ms: set twice for client.egress and client.ingress"),
        ("delay=1ms,client.ingress.delay=1ms", "client.ingress.delay=1ms: set twice for client.ingress"),
        ("jitter=5ms", "client: jitter_ms: 5 needs a delay_ms of at least as much"),
        (
            "backend.delay=9ms,backend.ingress.jitter=10ms",
            "backend.ingress: jitter_ms: 10 needs a delay_ms of at least as much",
        ),
        ("limit=10", "client: a limit alone does not shape anything; add a delay, a loss or a rate"),
        ("delay=1ms,,loss=1%", "nothing between commas: no such key"),
        # Only the unreadable delay is reported, and not the jitter that needs it.
        ("delay=20,jitter=5ms", "delay=20: 20 needs one of the units us, ms, s"),
    ],
)
def test_a_fault_is_named_with_its_setting(text: str, fault: str) -> None:
    message = faults(text)
    if fault.endswith("no such key"):
        assert message.startswith(f"{fault} (the keys are ")
    else:
        assert message == fault


@pytest.mark.parametrize("key", ["dealy", "", "client", "server.delay", "egress.client.delay", "client.client.delay"])
def test_the_error_for_an_unknown_key_lists_the_known_ones(key: str) -> None:
    assert faults(f"{key}=1ms") == (
        f"{key}=1ms: no such key (the keys are delay, jitter, loss, duplicate, reorder, corrupt, rate, limit, "
        "each after an optional client. or backend. and an optional egress. or ingress.)"
    )


def test_all_faults_are_named_at_once() -> None:
    """Contradictions between settings are reported even if other settings are unreadable."""
    message = faults("loss=1,backend.jitter=1ms,colour=red,loss=2%,ingress.rate=9999gbit")
    clauses = message.split("; ")
    assert [clause.partition(":")[0] for clause in clauses] == [
        "loss=1",
        "colour=red",
        "loss=2%",
        "ingress.rate=9999gbit",
        "backend",
    ]


@pytest.mark.parametrize("digits", [400, 5000])
def test_an_extremely_long_number_is_out_of_range(digits: int) -> None:
    """A number beyond the range of float or Python's limit on digits causes no other exception."""
    assert "delay_ms: inf is not a number between 0 and 10000" in faults(f"delay={'9' * digits}s")
    assert "limit_packets: inf is not a whole number between 1 and 2600" in faults(f"limit={'9' * digits}")


def test_the_example_in_every_message_is_valid() -> None:
    assert parse_custom(EXAMPLE).client == LinkProfile.both(Impairment(delay_ms=20, loss_pct=1, rate_mbit=50))
