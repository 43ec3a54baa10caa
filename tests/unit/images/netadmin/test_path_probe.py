"""Probes and loads between two agents, over the loopback interface, which loses nothing."""

import itertools
import os
import socket
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from unittest.mock import MagicMock

import pytest

from images.netadmin.netadmin import load_path, path_probe
from images.netadmin.netadmin.links import arrives_on
from images.netadmin.netadmin.load_path import Counter, received
from images.netadmin.netadmin.path_probe import answer_probes, probe_path
from tests.support.fake_stage import FakeClock
from tuneproof.lab.protocol.links import LoadPlan, PathSeen, ProbePath

RATE_BYTES_PER_S = 10e6


def plan(port: int, **changes: Any) -> ProbePath:
    fields: dict[str, Any] = {"packets": 50, "interval_s": 0.001, "payload_bytes": 64, "linger_s": 0.5, "loads": {}}
    return ProbePath(address="127.0.0.1", port=port, own_port=port + 2, **{**fields, **changes})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the first of three unused ports, and let the loopback interface replace the role's link."""
    monkeypatch.setattr(load_path, "arrives_on", lambda: "lo")
    # Other test processes start with other ports: none should take this port between the check and its use.
    begin = os.getpid() % 3000
    for first in (17450 + 3 * ((begin + index) % 3000) for index in range(3000)):
        try:
            for number in range(first, first + 3):
                socket.create_server(("", number)).close()
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                    datagrams.bind(("", number))
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


@contextmanager
def answering(port: int) -> Iterator[Callable[[], None]]:
    """Answer one agent's probes in a thread; the yielded function waits for the thread's end."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(answer_probes, port)
        yield lambda: future.result(timeout=30)


def probed(port: int, **changes: Any) -> PathSeen:
    """Probe the loopback interface; return the result once the answering agent has ended, too."""
    with answering(port) as answered:
        seen = probe_path(plan(port, **changes))
        answered()
        return seen


def test_every_probe_comes_back_with_its_times(port: int) -> None:
    """Each probe comes back once, in order. Its round trip is not shorter than both ways together."""
    seen = probed(port)
    assert (seen.sent, seen.loads) == (50, {})
    assert len(seen.late) == 50
    assert min(seen.late) >= 0
    assert [number for number, _ in seen.there] == list(range(50))
    assert [number for number, _, _ in seen.back] == list(range(50))
    assert min(there_us for _, there_us in seen.there) >= 0
    assert min(back_us for _, back_us, _ in seen.back) >= 0
    assert max(both_us for _, _, both_us in seen.back) < 30_000_000
    # Each of the three times is truncated to whole microseconds. An adjustment of the kernel's clock affects the probe
    # that is on its way.
    ways = zip(seen.there, seen.back, strict=True)
    longer = [both_us for (_, there_us), (_, back_us, both_us) in ways if there_us + back_us > both_us + 2]
    assert len(longer) <= 1


def test_probes_have_the_planned_size_in_both_directions(port: int) -> None:
    with path_probe._udp(port) as other, path_probe._udp(port + 1) as leader:
        leader.connect(("127.0.0.1", port))
        planned = plan(port, interval_s=0.0, payload_bytes=200, linger_s=0.01)
        assert path_probe._send_probes(leader, planned, packets=1)[1] == []
        assert len(other.recv(65536, socket.MSG_PEEK)) == 200
        path_probe._send_back(other)
        assert len(leader.recv(65536)) == 200


def test_a_machine_that_pauses_loses_no_probe(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes that were due or came back during the pause must not look lost."""
    clock = itertools.accumulate(itertools.chain([0.0, 0.0, 5.0, 0.0], itertools.repeat(0.001)))
    stand_in = types.SimpleNamespace(monotonic=clock.__next__, monotonic_ns=time.monotonic_ns, time_ns=time.time_ns)
    monkeypatch.setattr(path_probe, "time", stand_in)
    with path_probe._udp(port) as leader:
        # The socket receives its own probes.
        leader.connect(("127.0.0.1", port))
        late, back = path_probe._send_probes(leader, plan(port, interval_s=0.002, linger_s=0.01), packets=20)
    assert [number for number, _, _ in back] == list(range(20))
    # The first was on time; the others were due during the pause of five seconds.
    assert late == [0, *(pytest.approx(5_000_000 - 2000 * number, abs=1) for number in range(1, 20))]


def test_a_late_reader_does_not_make_a_probe_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe arrives when the kernel takes it from the link. Here, it is read 300 ms later."""
    clocks = types.SimpleNamespace(time_ns=lambda: 1_000_300_000_000, monotonic_ns=lambda: 50_300_000_000)
    monkeypatch.setattr(path_probe, "time", clocks)
    stamp = (socket.SOL_SOCKET, path_probe._SO_TIMESTAMPNS, path_probe._TIMESPEC.pack(1000, 0))
    assert path_probe._arrived_ns([(socket.SOL_SOCKET, 1, b""), stamp]) == 50_000_000_000


def test_a_kernel_that_reports_no_arrival_is_an_error() -> None:
    with pytest.raises(OSError, match=r"^the kernel gives no time of arrival for a probe$"):
        path_probe._arrived_ns([])


def test_the_rate_of_datagrams_is_measured_in_each_direction(port: int) -> None:
    """Slightly more than the nominal rate is offered, and the interface also carries other traffic."""
    load = LoadPlan(seconds=0.6, rate_bytes_per_s=RATE_BYTES_PER_S, stream=False)
    seen = probed(port, loads={"egress": load, "ingress": load})
    assert set(seen.loads) == {"egress", "ingress"}
    for points in seen.loads.values():
        assert points[0] == (0, 0)
        assert list(points) == sorted(points)
        at_us, arrived = points[-1]
        # The machine may pause in the window, but hardly for half of it.
        assert arrived / at_us * 1e6 > 0.5 * RATE_BYTES_PER_S


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_the_rate_of_a_stream_is_measured_in_the_requested_direction(port: int, direction: str) -> None:
    seen = probed(port, loads={direction: LoadPlan(seconds=0.2, rate_bytes_per_s=1.0, stream=True)})
    assert list(seen.loads) == [direction]
    at_us, arrived = seen.loads[direction][-1]
    assert arrived / at_us * 1e6 > 1e6


def test_an_agent_that_leaves_during_a_measurement_is_an_error(port: int) -> None:
    """Otherwise, unreported probes would look like loss."""
    ready = threading.Event()

    def leave() -> None:
        with socket.create_server(("", port)) as listener, path_probe._udp(port):
            ready.set()
            listener.accept()[0].close()

    with ThreadPoolExecutor(max_workers=1) as pool:
        leaving = pool.submit(leave)
        assert ready.wait(30)
        with pytest.raises(ConnectionError):
            probe_path(plan(port, packets=0))
        leaving.result(timeout=30)


def test_a_missing_agent_at_the_other_end_is_an_error_after_a_while(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two agents waits for the other, since both are called at the same time."""
    monkeypatch.setattr(path_probe, "_WAIT_S", 0.1)
    with pytest.raises(ConnectionRefusedError):
        probe_path(plan(port))
    with pytest.raises(TimeoutError):
        answer_probes(port)


def test_a_leader_that_falls_silent_is_an_error(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(port) as answered, path_probe._connect("127.0.0.1", port), path_probe._udp(0) as leader:
        leader.connect(("127.0.0.1", port))
        # The agent waits for as long as usual until this probe arrives.
        monkeypatch.setattr(path_probe, "_WAIT_S", 0.1)
        path_probe._send_probes(leader, plan(port, linger_s=0.0), packets=1)
        with pytest.raises(TimeoutError, match="no more probes arrive from the agent that sends them"):
            answered()


# In the kernel's own file, the last column also has a name: "compressed".
DEVICES = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo:  111       2    0    0    0     0          0         0   333       4    0    0    0     0       0          0
  eth0:3087681663 73889 0    0    0     0          0         0  4125812  42894    0    0    0     0       0          0
veth0eth0:  5       6    0    0    0     0          0         0    7       8    0    0    0     0       0          0
"""


@pytest.mark.parametrize(
    ("interface", "bytes_and_frames"), [("lo", (111, 2)), ("eth0", (3087681663, 73889)), ("veth0eth0", (5, 6))]
)
def test_received_bytes_and_frames_are_the_interfaces_first_columns(
    interface: str, bytes_and_frames: tuple[int, int]
) -> None:
    """Old kernels print no space between the colon and a large counter. Names may end with another interface's name."""
    assert received(DEVICES, interface) == bytes_and_frames


def test_an_unknown_interface_is_an_error() -> None:
    """Otherwise, it would look like a link that carries nothing."""
    with closing(Counter("wlan77")) as counter, pytest.raises(OSError, match=r"^there is no interface wlan77$"):
        counter.read()


@pytest.mark.parametrize(
    ("links", "last"), [(["lo", "eth0"], "eth0"), (["lo", "eth0", "ingress"], "ingress")], ids=["wire", "native"]
)
def test_arrivals_are_counted_after_netem(links: list[str], last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters before netem would include lost packets."""
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(links)))
    assert arrives_on() == last


class Readings:
    """A clock and a counter that are read alternately."""

    def __init__(self, *rows: tuple[float, float, int, int], usual_s: float = 0.00001) -> None:
        self._usual_s = usual_s
        self._clock = iter([0.0, *(at_s for begins_s, ends_s, _, _ in rows for at_s in (begins_s, ends_s)), 9.0])
        self._counts = iter([(bytes_, frames) for _, _, bytes_, frames in rows])

    def monotonic(self) -> float:
        return next(self._clock)

    def read(self) -> tuple[int, int]:
        return next(self._counts)

    def usual_s(self) -> float:
        return self._usual_s


SEEN = (
    (1.0, 1.0001, 5000, 5),
    (1.001, 1.0011, 5000, 5),
    (1.002, 1.0021, 7000, 7),
    (1.003, 1.0130, 9000, 9),
    (1.014, 1.0141, 11000, 9),
)
SLOW = (1.0, 1.003, 5000, 5), (1.004, 1.007, 7000, 7)


@pytest.mark.parametrize(
    ("rows", "usual_s", "segment_bytes", "points"),
    [
        (SEEN, 0.00001, None, [[0, 0], [2000, 2000], [14000, 6000]]),
        # Two frames of 1000 bytes have 1868 bytes of payload. Each segment of 660 bytes would have 66 bytes of headers.
        (SEEN, 0.00001, 660, [[0, 0], [2000, 2055], [14000, 6310]]),
        # With a fixed limit, no reading on an emulated CPU would be fast enough: the link would seem to carry nothing.
        (SLOW, 0.0004, None, [[0, 0], [4000, 2000]]),
        (SLOW, 0.0001, None, []),
        ((), 0.00001, None, []),
    ],
    ids=["datagrams", "stream", "slow-machine", "interrupted", "nothing-arrives"],
)
def test_points_are_uninterrupted_readings_with_new_data(
    rows: tuple[tuple[float, float, int, int], ...],
    usual_s: float,
    segment_bytes: int | None,
    points: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reading that takes over ten times as long as usual has no exact time; one without new data adds no point."""
    readings = Readings(*rows, usual_s=usual_s)
    monkeypatch.setattr(load_path, "time", readings)
    watched = load_path._Points(readings, seconds=3.0, segment_bytes=segment_bytes)  # type: ignore[arg-type] # reads alike
    while rows and watched.look():
        pass
    assert watched.result() == points


def test_datagrams_of_a_load_fit_the_paths_mtu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would refuse larger datagrams. The MTU of an overlay network is 1450 bytes."""
    path = MagicMock(spec=socket.socket)
    path.__enter__.return_value = path
    path.getsockopt.side_effect = lambda *option: {(socket.IPPROTO_IP, 14): 1450}[option]
    path.send.side_effect = len
    monkeypatch.setattr(socket, "socket", lambda *_: path)
    FakeClock().replace_in(monkeypatch, load_path)
    load_path.load("10.0.1.2", 7451, seconds=0.05, rate_bytes_per_s=1e6, stream=False)
    path.setsockopt.assert_called_once_with(socket.IPPROTO_UDP, 103, 1422)
    sent = [len(message) for ((message,), _) in path.send.call_args_list]
    assert set(sent) == {20 * 1422}
    assert sum(sent) >= 0.05 * 1e6
