"""A path is probed and loaded between two agents: here over the loopback interface, where nothing is lost."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from images.netadmin.netadmin import load_path, path_probe
from images.netadmin.netadmin.load_path import bytes_received
from images.netadmin.netadmin.path_probe import answer_probes, probe_path

PLAN: dict[str, Any] = {"packets": 50, "interval_s": 0.001, "payload_bytes": 64, "linger_s": 0.05, "loads": {}}
# Enough to drown what else may pass the loopback interface.
RATE_BYTES_PER_S = 10e6


def may_force_buffers() -> bool:
    """Tell whether this process may have larger socket buffers than others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        try:
            opened.setsockopt(socket.SOL_SOCKET, path_probe._SO_RCVBUFFORCE, 1 << 20)
        except PermissionError:
            return False
    return True


as_netadmin = pytest.mark.skipif(not may_force_buffers(), reason="SO_RCVBUFFORCE needs NET_ADMIN, see socket(7)")


def free_ports(count: int) -> int:
    """Return the first of some neighbouring ports that nobody uses."""
    for first in range(17450, 27450, count):
        try:
            for port in range(first, first + count):
                socket.create_server(("", port)).close()
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


@contextmanager
def answering(port: int) -> Iterator[Callable[[], dict[str, Any]]]:
    """Answer one leader in a thread; inside the context, its result can be waited for."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(answer_probes, port)
        yield lambda: future.result(timeout=10)


def probed(monkeypatch: pytest.MonkeyPatch, **plan: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Probe the loopback interface; return what the leader and what the other agent found."""
    monkeypatch.setattr(load_path, "ROLE_LINK", "lo")
    port = free_ports(3)
    with answering(port) as answered:
        raw = probe_path("127.0.0.1", **{**PLAN, **plan}, port=port, own_port=port + 2)
        return raw, answered()


@as_netadmin
def test_every_probe_comes_back_with_its_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, once each; the round trip is not shorter than either way."""
    raw, answered = probed(monkeypatch)
    assert (raw["sent"], answered, raw["rates"]) == (50, {"arrivals": 50}, {})
    assert [number for number, _ in raw["there"]] == list(range(50))
    assert [number for number, _, _ in raw["back"]] == list(range(50))
    for (_, there_us), (_, back_us, both_us) in zip(raw["there"], raw["back"], strict=True):
        assert 0 <= there_us <= both_us
        assert 0 <= back_us <= both_us
        # Each of the three is cut to whole microseconds by itself.
        assert there_us + back_us <= both_us + 1
        assert both_us < 50_000


@as_netadmin
def test_probes_are_as_large_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their size is part of the expected round trip, both ways."""
    sizes: list[int] = []
    send_back = path_probe._send_back

    def watch(probes: socket.socket) -> list[int]:
        sizes.append(len(probes.recv(65536, socket.MSG_PEEK)))
        return send_back(probes)

    monkeypatch.setattr(path_probe, "_send_back", watch)
    raw, _ = probed(monkeypatch, packets=3, payload_bytes=200)
    assert sizes == [200, 200, 200]
    assert len(raw["back"]) == 3


@as_netadmin
def test_the_rate_of_datagrams_is_measured_in_each_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit more is offered than the link is said to carry, and the loopback interface carries it all."""
    load = {"seconds": 0.3, "rate_bytes_per_s": RATE_BYTES_PER_S, "stream": False}
    raw, _ = probed(monkeypatch, loads={"egress": load, "ingress": load})
    assert set(raw["rates"]) == {"egress", "ingress"}
    for rate in raw["rates"].values():
        assert RATE_BYTES_PER_S < rate < 1.4 * RATE_BYTES_PER_S


@as_netadmin
@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_the_rate_of_a_stream_is_measured_in_the_direction_that_was_asked_for(
    direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the rate by itself: far more than a datagram load of the same figures."""
    load = {"seconds": 0.2, "rate_bytes_per_s": 1.0, "stream": True}
    raw, _ = probed(monkeypatch, loads={direction: load})
    assert list(raw["rates"]) == [direction]
    assert raw["rates"][direction] > 1e6


@as_netadmin
def test_an_agent_that_goes_away_in_the_middle_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of an answer would pass for loss."""
    port = free_ports(3)

    def leave() -> None:
        with socket.create_server(("", port)) as listener, path_probe._udp(port):
            ready.set()
            listener.accept()[0].close()

    ready = threading.Event()
    monkeypatch.setattr(path_probe, "_udp", path_probe._udp)
    with ThreadPoolExecutor(max_workers=1) as pool:
        leaving = pool.submit(leave)
        assert ready.wait(5)
        with pytest.raises(ConnectionError):
            probe_path("127.0.0.1", **{**PLAN, "packets": 0}, port=port, own_port=port + 2)
        leaving.result(timeout=5)


@as_netadmin
def test_nobody_who_answers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader waits a while, since both are asked at the same time; so does the other agent."""
    monkeypatch.setattr(path_probe, "_WAIT_S", 0.1)
    port = free_ports(3)
    with pytest.raises(ConnectionRefusedError):
        probe_path("127.0.0.1", **PLAN, port=port, own_port=port + 2)
    with pytest.raises(TimeoutError):
        answer_probes(port)


@as_netadmin
def test_a_leader_that_falls_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent has other tasks."""
    monkeypatch.setattr(path_probe, "_WAIT_S", 0.3)
    port = free_ports(3)
    with answering(port) as answered, path_probe._connect("127.0.0.1", port):
        with pytest.raises(TimeoutError, match="the leader of the probes fell silent"):
            answered()


DEVICES = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  111       2    0    0    0     0          0         0   333       4    0    0    0     0       0          0
  eth0:3087681663 73889 0    0    0     0          0         0  4125812  42894  0    0    0     0       0          0
veth0eth0:  5       6    0    0    0     0          0         0    7       8    0    0    0     0       0          0
"""


@pytest.mark.parametrize(("interface", "received"), [("lo", 111), ("eth0", 3087681663), ("veth0eth0", 5)])
def test_received_bytes_are_the_interfaces_first_column(
    interface: str, received: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large counter touches the colon; a name that ends alike is another interface."""
    monkeypatch.setattr(Path, "read_text", lambda path, **_: {"/proc/net/dev": DEVICES}[str(path)])
    assert bytes_received(interface) == received


def test_an_unknown_interface_is_an_error() -> None:
    """It would look like a link that carries nothing."""
    with pytest.raises(OSError, match="^there is no interface wlan77$"):
        bytes_received("wlan77")
