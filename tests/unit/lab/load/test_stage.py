"""What a load may touch: programs that start when they are needed, and what the client is asked."""

import types
from typing import TYPE_CHECKING, Any, cast

from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.loadgen import Gaps, Loadgen
from tuneproof.lab.protocol.messages import Answered, Call, call

if TYPE_CHECKING:
    from tuneproof.lab.network.agent import LinkAgent
    from tuneproof.lab.topology.lab import Lab

LOADGEN = ["python3", "-m", "loadgen"]
OBSERVER = ["python3", "-m", "netadmin.observer"]


GAPS = Gaps(lost_pct=3.0, longest_ms=12.5)


class Conversation:
    """A channel that answers one thing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Call[Any], float]] = []
        self.closed = 0

    def timed(self, question: Call[Any], *, lasts_s: float) -> Answered[Gaps]:
        self.asked.append((question, lasts_s))
        return Answered(answer=GAPS, took_s=2.5, machine=MachineShares(steal_pct=1.5))

    def close(self) -> None:
        self.closed += 1


class StandInLab:
    """A lab in which programs start, and all give the same answer."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str], str]] = []  # container, command, user
        self.conversations: list[Conversation] = []

    @property
    def lab(self) -> "Lab":
        """This object, where a lab is wanted."""
        return cast("Lab", self)

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        def converse(command: list[str], *, user: str = "") -> Conversation:
            self.started.append((name, command, user))
            self.conversations.append(Conversation())
            return self.conversations[-1]

        def attach() -> Conversation:
            return converse(["its own program"])

        return types.SimpleNamespace(name=name, converse=converse, attach=attach)

    def programs(self, *, prober: bool = True) -> Programs:
        return Programs(
            self.lab,
            agent=lambda role: cast("LinkAgent", f"agent of {role}"),
            netadmin_of=lambda name: f"netadmin-{name}",
            prober=prober,
        )

    def stage(self) -> Stage:
        return Stage(
            lab=self.lab,
            programs=self.programs(),
            subject_name="small",
            port=8080,
            addresses={"default": "172.18.0.3", "small": "172.18.0.4", "backend": "172.18.0.5"},
        )


def test_a_program_starts_once_when_it_is_first_asked_for() -> None:
    """Starting one costs the engine a tenth of a second, which no trial shall pay again."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    assert stand_in.started == []
    assert programs.loadgen is programs.loadgen
    assert programs.prober is programs.prober
    assert stand_in.started == [("client", LOADGEN, ""), ("prober", LOADGEN, "")]
    assert programs.loadgen is not programs.prober
    assert stand_in.programs(prober=False).prober is None, "of a lab that has none"


def test_a_backend_is_attached_to_once_and_stays_when_programs_start_anew() -> None:
    """It is its container's own program: another conversation with it would hear answers to the one before."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    backend = programs.backend("backend")
    programs.restart()
    assert programs.backend("backend") is backend
    assert stand_in.started == [("backend", ["its own program"], "")]
    assert stand_in.conversations[0].closed == 0


def test_each_subject_has_one_observer_beside_it_that_runs_as_nginx_user() -> None:
    """What it reads of nginx's processes is the owner's to read (proc(5)); it needs no capability for it."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    first, second = programs.observer("default"), programs.observer("small")
    assert first is not second
    assert (programs.observer("default"), programs.observer("small")) == (first, second)
    assert stand_in.started == [
        ("netadmin-default", OBSERVER, "www-data"),
        ("netadmin-small", OBSERVER, "www-data"),
    ]


def test_after_a_restart_all_programs_are_new() -> None:
    """The old ones may have ended, hold a trial's connections, or still watch for it; each is closed once."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    old = [programs.loadgen, programs.prober, programs.observer("small")]
    programs.restart()
    assert [conversation.closed for conversation in stand_in.conversations] == [1, 1, 1]
    assert len(stand_in.started) == 3, "a new one waits until it is asked for"
    new = [programs.loadgen, programs.prober, programs.observer("small")]
    assert not any(one is other for one, other in zip(old, new, strict=True))
    assert stand_in.started[3:] == stand_in.started[:3]
    assert [conversation.closed for conversation in stand_in.conversations[3:]] == [0, 0, 0]


def test_a_stage_is_one_subject_among_others() -> None:
    stand_in = StandInLab()
    stage = stand_in.stage()
    assert (stage.address, stage.addresses["backend"]) == ("172.18.0.4", "172.18.0.5")
    assert cast("Any", stage.subject).name == "small"
    assert stage.observer is stage.programs.observer("small")
    assert stand_in.started == [("netadmin-small", OBSERVER, "www-data")]


def test_a_question_goes_to_the_client_with_the_time_that_it_lasts() -> None:
    """Its one program answers all of them; what comes back is the answer, or the answer and what belongs to it."""
    stand_in = StandInLab()
    stage = stand_in.stage()
    look = call(Loadgen.gaps, 5.0)
    assert stage.ask(look, lasts_s=5.0) == GAPS
    assert stage.timed(look) == Answered(answer=GAPS, took_s=2.5, machine=MachineShares(steal_pct=1.5))
    (client,) = stand_in.conversations
    assert stand_in.started == [("client", LOADGEN, "")]
    assert client.asked == [(look, 5.0), (look, 0.0)]
