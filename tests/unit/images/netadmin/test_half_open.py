"""Half-open connections: their source addresses, and the frames that cause them."""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import cast

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from images.netadmin.netadmin import half_open
from images.netadmin.netadmin.addresses import interface_network, unused_addresses
from images.netadmin.netadmin.half_open import flood, syn_frames

OWN_MAC, SERVER_MAC = "02:74:70:01:01:01", "02:74:70:02:02:02"


def frames(sources: Sequence[str], *, count: int) -> list[Ether]:
    """Return SYNs to 172.18.0.3:8000, parsed again."""
    raw = syn_frames(sources, macs=(OWN_MAC, SERVER_MAC), address="172.18.0.3", port=8000, count=count)
    return [Ether(frame) for frame in raw]


class FakeLink:
    """A packet socket with errors for the first frames; it records the others."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)
        self.sent: list[bytes] = []

    @property
    def socket(self) -> socket.socket:
        return cast("socket.socket", self)

    def send(self, frame: bytes) -> int:
        if self._errors:
            raise OSError(self._errors.pop(0), "send")
        self.sent.append(frame)
        return len(frame)


@pytest.mark.parametrize(
    ("subnet", "used", "last_bytes"),
    [
        ("172.18.255.0/24", (), [254, 253, 252]),
        ("172.18.255.0/24", (254, 252), [253, 251, 250]),
        ("172.18.255.0/29", (2, 3), [6, 5, 4]),
        ("172.18.255.0/30", (), [2]),
    ],
    ids=["from the top", "without used addresses", "just enough in a small subnet", "without the gateway"],
)
def test_sources_are_unused_addresses(subnet: str, used: Sequence[int], last_bytes: Sequence[int]) -> None:
    """The engine assigns the lowest addresses; the highest is the broadcast address."""
    found = unused_addresses(ipaddress.IPv4Network(subnet), used=[f"172.18.255.{each}" for each in used], count=3)
    assert found == [f"172.18.255.{each}" for each in last_bytes]


def test_a_full_subnet_has_no_source() -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/30 has no address left"):
        unused_addresses(ipaddress.IPv4Network("10.0.0.0/30"), used=("10.0.0.2",), count=1)


def test_every_frame_is_a_syn_to_the_server() -> None:
    (frame,) = frames(["172.18.255.254"], count=1)
    assert (frame.src, frame.dst) == (OWN_MAC, SERVER_MAC)
    assert (frame[IP].src, frame[IP].dst) == ("172.18.255.254", "172.18.0.3")
    assert (frame[TCP].dport, str(frame[TCP].flags), bytes(frame[TCP].payload)) == (8000, "S", b"")
    found = (frame[IP].chksum, frame[TCP].chksum)
    del frame[IP].chksum, frame[TCP].chksum
    again = Ether(bytes(frame))
    assert found == (again[IP].chksum, again[TCP].chksum)


def test_sources_alternate_and_every_syn_has_its_own_port() -> None:
    """For the server, no two SYNs may belong to the same connection."""
    found = [(frame[IP].src, frame[TCP].sport) for frame in frames(["172.18.255.254", "172.18.255.253"], count=5)]
    assert [source[-3:] for source, _ in found] == ["254", "253", "254", "253", "254"]
    assert len({port for _, port in found}) == 5


def test_the_subnet_is_the_interfaces_own() -> None:
    assert str(interface_network("lo")) == "127.0.0.1/8"
    with pytest.raises(OSError, match="none-such has no IPv4 address"):
        interface_network("none-such")


def test_sending_waits_for_a_full_queue() -> None:
    link = FakeLink(errno.ENOBUFS, errno.ENOBUFS)
    half_open._send(link.socket, [b"first", b"second"])
    assert link.sent == [b"first", b"second"]


@pytest.mark.parametrize(
    ("errors", "message"),
    [([errno.ENOBUFS] * 9, "eth0 did not take 1 frames within 0 s"), ([errno.ENETDOWN], "send")],
    ids=["queue-stays-full", "link-down"],
)
def test_a_link_that_accepts_no_frame_is_an_error(
    errors: list[int], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sending ends after a time limit, or at once if the link is down."""
    monkeypatch.setattr(half_open, "_WITHIN_S", 0.0)
    with pytest.raises(OSError, match=message):
        half_open._send(FakeLink(*errors).socket, [b"frame"])


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("192.0.2.1", "192.0.2.1 is not in 172.18.0.0/16, the subnet of eth0"),
        ("172.18.0.3", "no MAC address is known for 172.18.0.3"),
    ],
    ids=["other-subnet", "no-mac-address"],
)
def test_an_unreachable_server_is_an_error(address: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ipaddress.IPv4Interface("172.18.0.2/16")
    monkeypatch.setattr(half_open, "interface_network", {"eth0": own}.__getitem__)
    monkeypatch.setattr(half_open, "getmacbyip", lambda _: None)
    with pytest.raises((OSError, ValueError), match=error):
        flood(address, port=8000, count=3)


def test_sent_frames_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few frames each have their own source; many share MOST_SOURCES sources."""
    link = FakeLink()
    monkeypatch.setattr(half_open, "interface_network", lambda _: ipaddress.IPv4Interface("172.18.0.2/16"))
    monkeypatch.setattr(half_open, "getmacbyip", {"172.18.0.3": SERVER_MAC}.__getitem__)
    monkeypatch.setattr(half_open, "get_if_hwaddr", {"eth0": OWN_MAC}.__getitem__)
    monkeypatch.setattr(half_open, "_send", lambda _, sent: link.sent.extend(sent))
    monkeypatch.setattr(half_open, "open_link", socket.socket)
    few = flood("172.18.0.3", port=8000, count=3)
    assert few.sent == 3
    assert few.seconds >= 0
    assert [Ether(frame)[IP].src[-3:] for frame in link.sent] == ["254", "253", "252"]
    many = flood("172.18.0.3", port=8000, count=100)
    assert many.sent == 100
    assert len({Ether(frame)[IP].src for frame in link.sent}) == half_open.MOST_SOURCES
