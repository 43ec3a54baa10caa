"""Extra addresses, with which one machine acts as many clients."""

import ipaddress
import types
from collections.abc import Sequence

import pytest

from images.netadmin.netadmin import addresses


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sequence[str], bytes]]:
    """Return the commands with their input, for a role with 172.18.0.9/24 on its link."""
    ran: list[tuple[Sequence[str], bytes]] = []

    def run(command: Sequence[str], *, input: bytes, check: bool, stdout: object) -> None:  # noqa: A002 - as in subprocess
        assert check
        del stdout
        ran.append((command, input))

    monkeypatch.setattr(addresses, "subprocess", types.SimpleNamespace(run=run, DEVNULL=None))
    own = ipaddress.IPv4Interface("172.18.0.9/24")
    monkeypatch.setattr(addresses, "interface_network", lambda _link: own)
    return ran


def test_unused_addresses_are_added_to_the_link(commands: list[tuple[Sequence[str], bytes]]) -> None:
    found = addresses.add_addresses(3, ["172.18.0.254"])
    assert found == ("172.18.0.253", "172.18.0.252", "172.18.0.251")
    ((command, batch),) = commands
    assert command == ["ip", "-batch", "-"]
    assert batch.decode().splitlines()[0] == "address replace 172.18.0.253/32 dev eth0"


def test_a_small_subnet_gets_fewer_addresses(commands: list[tuple[Sequence[str], bytes]]) -> None:
    assert len(addresses.add_addresses(1000, ["172.18.0.2"])) == 254 - 3
    assert len(commands) == 1


def test_ipv4_is_redirected_to_the_stand_in_and_ipv6_to_the_role_itself(
    commands: list[tuple[Sequence[str], bytes]],
) -> None:
    """The lab's network may lack IPv6."""
    addresses.lead_addresses(["192.0.2.7", "2001:db8::7"], "172.18.0.3")
    (added, redirected) = [text.decode() for _, text in commands]
    assert added == "address replace 2001:db8::7/128 dev lo\n"
    assert "ip daddr { 192.0.2.7 } dnat to 172.18.0.3" in redirected
    commands.clear()
    addresses.lead_addresses(["2001:db8::7"], "172.18.0.3")
    assert len(commands) == 1
