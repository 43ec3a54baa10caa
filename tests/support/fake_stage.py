"""A stage without a lab: canned readings, a client with canned responses, and a fake clock.

The stage records everything that a load does in one list, in order.
"""

import types
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

from tests.support.joined import Answering
from tuneproof.lab.load.observer import Counters, WorkerFigures
from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.netadmin import HalfOpened
from tuneproof.lab.protocol.observer import ListenerFigures, Observer, SocketCounts, WatchSample
from tuneproof.lab.topology.program import Call, remote

if TYPE_CHECKING:
    from tuneproof.errors import LabError
    from tuneproof.lab.topology.container import LabContainer
    from tuneproof.lab.topology.lab import Lab

PORT = 8080
ADDRESS = "172.18.0.4"
BACKEND_ADDRESS = "172.18.0.5"
MIB = 1 << 20
_T = TypeVar("_T")


class FakeClock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds

    def replace_in(self, monkeypatch: pytest.MonkeyPatch, *modules: types.ModuleType) -> None:
        """Replace the module ``time`` in these modules."""
        for module in modules:
            monkeypatch.setattr(module, "time", self)


class FakeStage:
    """A stage with one subject. Each reading is the next one in its list; the last one is repeated."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.did: list[str] = []  # calls to the observer, the client, the netadmin containers and the subject
        self.workers: list[tuple[WorkerFigures, ...]] = [(worker(11), worker(12))]
        self.counters: list[Counters] = [counters()]
        self.sockets: list[SocketCounts] = [sockets()]
        self.cgroups: list[str] = [cgroup()]
        self.samples: tuple[WatchSample, ...] = (sample(0.0, 4 * MIB),)
        self.answers: dict[str, list[object]] = defaultdict(lambda: [None])  # the client's, by function; each takes 1 s
        self.failing: dict[str, LabError] = {}  # the error of a call, by its entry in did
        self.asked: list[Call] = []  # calls to the client
        self.patience = 1.0
        self.bursts: list[tuple[str, str, int, int]] = []  # role, address, port, count
        self.steered: list[tuple[str, tuple[int, ...]]] = []  # role, CPUs

    @property
    def stage(self) -> Stage:
        """Return the stage, with this class in place of its lab."""
        observer = _remote(Observer, self._observe)
        programs = types.SimpleNamespace(
            client=_remote(Loadgen, self._load),
            observer=lambda name: {"subject": observer}[name],
            agent=lambda role: types.SimpleNamespace(
                half_open=partial(self._half_open, role), steer_receive=partial(self._steer_receive, role)
            ),
        )
        container = types.SimpleNamespace(
            run=self._run, log_tail=lambda: "the end of the subject's log", patience=self.patience
        )
        return _Stage(
            fake=self,
            lab=cast("Lab", {"subject": cast("LabContainer", container)}),
            programs=cast("Programs", programs),
            subject_name="subject",
            port=PORT,
            addresses={"subject": ADDRESS, "backend": BACKEND_ADDRESS},
        )

    def do(self, what: str) -> None:
        """Record the call, and raise its error if it has one."""
        self.did.append(what)
        if what in self.failing:
            raise self.failing[what]

    def _load(self, call: Call) -> object:
        self.asked.append(call)
        self.do(call.function)
        self.clock.now_s += 1.0
        return following(self.answers[call.function])

    def _observe(self, call: Call) -> object:
        if call.function == "signal":
            self.do("{name} {to}".format(**call.arguments))
        else:
            assert call.arguments.get("port", PORT) == PORT
            self.do(call.function)
        return self.samples if call.function == "watched" else None

    def _half_open(self, role: str, address: str, port: int, count: int) -> HalfOpened:
        self.do("half_open")
        self.bursts.append((role, address, port, count))
        self.clock.now_s += 0.25
        return HalfOpened(sent=count, seconds=0.1)

    def _steer_receive(self, role: str, cpus: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
        self.do("steer_receive")
        self.steered.append((role, cpus))
        return {"rx-0": cpus}

    def _run(self, command: list[str]) -> bytes:
        assert command[:2] == ["sh", "-c"]
        self.do("cgroup")
        return following(self.cgroups).encode()


@dataclass(frozen=True, kw_only=True)
class _Stage(Stage):
    fake: FakeStage

    def counters(self) -> Counters:
        self.fake.do("counters")
        return following(self.fake.counters)

    def workers(self) -> tuple[WorkerFigures, ...]:
        self.fake.do("workers")
        return tuple(replace(one, at_s=self.fake.clock.now_s) for one in following(self.fake.workers))

    def sockets(self, port: int = PORT) -> SocketCounts:
        assert port in {0, PORT}
        self.fake.do("sockets")
        return following(self.fake.sockets)


def _remote(interface: type[_T], answer: Callable[[Call], object]) -> _T:
    machine = MachineShares(busy_pct=50.0, steal_pct=1.5)
    return remote(interface, Answering(interface=interface, answer=answer, took_s=1.0, machine=machine))


def following(readings: list[_T]) -> _T:
    """Return the next reading; the last one is repeated."""
    return readings.pop(0) if len(readings) > 1 else readings[0]


def about(value: float) -> Any:
    """Return pytest's approximation of a number, typed as a number."""
    return pytest.approx(value)


def worker(pid: int, **changes: Any) -> WorkerFigures:
    figures: dict[str, Any] = {
        "rss_bytes": 2 * MIB,
        "rss_anon_bytes": MIB,
        "voluntary_switches": 0,
        "run_s": 0.0,
        "wait_s": 0.0,
        "write_bytes": 0,
        "is_leaving": False,
        "is_asleep": True,
        "at_s": 0.0,
    }
    return WorkerFigures(pid=pid, **{**figures, **changes})


def counters(**values: int) -> Counters:
    """Return a reading. A counter that loads use is 100 by default; two underscores stand for the dot in its name."""
    names = (
        "Tcp.ActiveOpens",
        "Tcp.PassiveOpens",
        "Tcp.InSegs",
        "TcpExt.ListenOverflows",
        "TcpExt.ListenDrops",
        "TcpExt.TCPBacklogDrop",
        "TcpExt.SyncookiesSent",
    )
    given = {name.replace("__", "."): value for name, value in values.items()}
    return Counters(counters={**dict.fromkeys(names, 100), **given}, steered=(0,), at_s=0.0)


def sockets(
    *,
    queued: tuple[int, ...] = (0,),
    send_queue_bytes: int = 0,
    unread_bytes: tuple[int, ...] = (),
    others: Mapping[str, int] | None = None,
    **local: int,
) -> SocketCounts:
    """Return a reading; an underscore stands for the hyphen in a state's name."""
    return SocketCounts(
        listeners=tuple(ListenerFigures(queued=each, backlog=511) for each in queued),
        local={"LISTEN": len(queued), **{name.replace("_", "-"): count for name, count in local.items()}},
        others=others or {},
        send_queue_bytes=send_queue_bytes,
        unread_bytes=unread_bytes,
    )


def sample(at_s: float, *rss_bytes: int, queued: int = 0) -> WatchSample:
    return WatchSample(at_s=at_s, rss_bytes=rss_bytes, queued=queued)


def cgroup(*, usage: int = 10 * MIB, anon: int = 4 * MIB, file: int = MIB, oom_kills: int = 0) -> str:
    """Return memory.current and lines of memory.stat and memory.events (cgroup v2)."""
    return f"{usage}\nanon {anon}\nfile {file}\nkernel 9\nlow 0\nhigh 0\nmax 3\noom 2\noom_kill {oom_kills}\n"
