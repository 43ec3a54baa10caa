"""A test double of the lab for trials that count: its programs record their calls."""

import base64
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tests.support.exchanged import answered, seen
from tests.support.fake_stage import FakeClock, following
from tests.support.joined import Answering, Joined
from tests.support.observed import STATUS, texts
from tests.support.outputs import SOFTNET
from tuneproof.errors import LabError
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.protocol.exchanges import Arrived, Connection
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.observer import (
    LEAVING,
    Calls,
    CounterTexts,
    ListenerFigures,
    Observer,
    ProcessTexts,
    SocketCounts,
    WorkerTexts,
)
from tuneproof.lab.protocol.scripted import Scripted, Seen
from tuneproof.lab.protocol.serving import CannotDoError
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.topology.program import Answered, Asks, Call
from tuneproof.lab.topology.roles import Role, RoleSpec

if TYPE_CHECKING:
    from tuneproof.lab.topology.lab import Lab

CONNECTION = Connection(
    answers=(
        answered(200, worker=7, numbered="1.1", body_bytes=5, total_s=0.2),
        answered(0, complete=False, total_s=0.1),
    ),
    error="",
    closed_by_server=True,
    open_s=0.5,
)
EXCHANGED = ((CONNECTION,),)
ARRIVED = Arrived(status=200, body_bytes=5, end="")


class TrialLab:
    """A lab with programs that record their calls."""

    def __init__(self) -> None:
        self.did: list[Any] = []
        self.workers: list[CannotDoError | tuple[ProcessTexts, ...]] = [(worker(7),)]
        self.answers: dict[str, object] = {
            "flows": EXCHANGED,
            "start_flows": None,
            "end_flows": EXCHANGED,
            "open_streams": None,
            "arrived": (ARRIVED,),
            "leave_streams": None,
        }
        self.clients: Iterator[str] = iter(())
        self.drops = [100]
        self.refuses = ""  # why a command in the subject fails; empty if it succeeds
        self.asked: list[Call] = []  # calls of the client
        self.clock = FakeClock()  # each call of the client takes half a second
        self.left = {8100: sockets(local={"TIME-WAIT": 3}), 8101: sockets()}
        self.observer = Observing(self)

    @property
    def stage(self) -> Stage:
        lab = cast("Lab", self)
        return Stage(
            lab=lab,
            programs=Programs(lab, prober=False),
            subject_name="subject",
            port=8000,
            addresses={"subject": "172.18.0.4", "backend": "172.18.0.5"},
            clients=self.clients,
        )

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        started: dict[tuple[str, str], Asks] = {
            ("client", ""): Answering(interface=Loadgen, answer=self._load, took_s=0.5),
            ("netadmin-subject", "www-data"): Joined(Observer, self.observer),
        }
        backend = types.SimpleNamespace(seen=partial(self._seen, name))
        return types.SimpleNamespace(
            converse=lambda _command, *, user: started[name, user],
            attach=lambda: Supervised(self.did) if name == "subject" else Joined(Scripted, backend),
            fetch=lambda path: f"fetched {path}".encode(),
            run=self._run,
            patience=1.0,
        )

    def containers(self) -> list[types.SimpleNamespace]:
        names = {"client": (Role.CLIENT, ""), "backend": (Role.BACKEND, "")}
        names |= {"own": (Role.BACKEND, "subject"), "others": (Role.BACKEND, "large")}
        return [
            types.SimpleNamespace(spec=RoleSpec(name=name, role=role, image="", joins=joins))
            for name, (role, joins) in names.items()
        ]

    def _load(self, call: Call) -> object:
        self.did.append((call.function, call.arguments.get("port")))
        self.asked.append(call)
        self.clock.now_s += 0.5
        return self.answers[call.function]

    def _seen(self, name: str) -> Seen:
        self.did.append((name, "seen"))
        return seen()

    def _run(self, command: Sequence[str], *, user: str = "") -> None:
        self.did.append((command[-1], user))
        if self.refuses:
            raise LabError("nginx ended with status 1", tail=self.refuses)

    @property
    def sources(self) -> list[tuple[str, ...]]:
        return [call.arguments["sources"] for call in self.asked if call.function == "flows"]


class Observing:
    """The observer's end of the calls."""

    def __init__(self, lab: TrialLab) -> None:
        self._lab = lab
        self.masters_wait = iter([False, True]).__next__
        self.calls = iter([{"read": Calls(made=3, failed=1)}, {"read": Calls(made=10, failed=2)}]).__next__

    def signal(self, name: str, to: str) -> None:
        self._lab.did.append(f"{name} {to}")

    def workers(self) -> WorkerTexts:
        found = following(self._lab.workers)
        if isinstance(found, CannotDoError):
            raise found
        return WorkerTexts(workers=found, at_s=0.0)

    def counters(self) -> CounterTexts:
        dropped = f"TcpExt: ListenDrops\nTcpExt: {self._lab.drops.pop(0)}\n"
        return CounterTexts(counters=dropped, softnet=SOFTNET, at_s=12.5)

    def sockets(self, port: int) -> SocketCounts:
        return self._lab.left.get(port) or sockets(0 if "CONT workers" in self._lab.did else 2)

    def turns(self, start_s: float, end_s: float) -> Turns:
        assert (start_s, end_s) == (12.5, 15.5)
        return Turns(workers=())

    def sysctl(self, name: str) -> str | None:
        return {"some": "1", "none": None}[name]


class Supervised:
    """The supervisor's end of the calls, which arrive as words."""

    def __init__(self, did: list[Any]) -> None:
        self._did = did

    def ask(self, call: Call) -> Answered[Any]:
        _, *words = call.line(1).split(" ")
        self._did.append(tuple(words))
        log = {"access.log": json.dumps({"uri": "/", "status": "200"}) + "\n", "error.log": "failed"}
        said = base64.b64encode(log.get(words[-1], "").encode()).decode()
        answered = call.parse_answer({"answer": {"status": 0, "said": said}})
        assert not isinstance(answered, str)
        return answered


def worker(pid: int, *, run_s: float = 0.5, is_asleep: bool = True, is_leaving: bool = False) -> ProcessTexts:
    title = f"nginx: worker process{LEAVING if is_leaving else ''}"
    status = STATUS if is_asleep else STATUS.replace("S (sleeping)", "R (running)")
    return texts(pid, title=title, status=status, schedstat=f"{run_s * 1e9:.0f} 0 20\n")


def sockets(*queued: int, local: Mapping[str, int] | None = None) -> SocketCounts:
    listeners = tuple(ListenerFigures(queued=each, backlog=511) for each in queued)
    return SocketCounts(listeners=listeners, local=local or {}, others={}, send_queue_bytes=0, unread_bytes=())


def rig(lab: TrialLab) -> Rig:
    return Rig(lab.stage, configuration="arm")
