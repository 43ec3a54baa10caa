"""What a load may touch: programs that start when they are needed, and what the client is asked."""

import types
from typing import TYPE_CHECKING, Any, cast

from tests.support.joined import Joined
from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.protocol.loadgen import Gaps, Loadgen
from tuneproof.lab.protocol.messages import call

if TYPE_CHECKING:
    from tuneproof.lab.network.agent import LinkAgent
    from tuneproof.lab.topology.lab import Lab

LOADGEN = ["python3", "-m", "loadgen"]
OBSERVER = ["python3", "-m", "netadmin.observer"]


GAPS = {5.0: Gaps(lost_pct=3.0, longest_ms=12.5)}


class StandInLab:
    """A lab in which programs start, and all give the same answer."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str], str]] = []  # container, command, user
        self.conversations: list[Joined] = []

    @property
    def lab(self) -> "Lab":
        return cast("Lab", self)

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        def converse(command: list[str], *, user: str = "") -> Joined:
            self.started.append((name, command, user))
            self.conversations.append(Joined(Loadgen, types.SimpleNamespace(gaps=lambda seconds: GAPS[seconds])))
            return self.conversations[-1]

        return types.SimpleNamespace(name=name, converse=converse, attach=lambda: converse(["its own program"]))

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


def test_a_program_starts_when_it_is_first_asked_for_and_anew_after_a_restart() -> None:
    """Starting one costs the engine a tenth of a second; old ones may have ended, or still hold a trial's connections.

    An observer runs as nginx's user: what it reads of nginx's processes is the owner's to read (proc(5)).
    """
    stand_in = StandInLab()
    programs = stand_in.programs()

    def all_of_them() -> list[object]:
        return [programs.loadgen, programs.prober, programs.observer("default"), programs.observer("small")]

    assert stand_in.started == []
    old = all_of_them()
    assert all_of_them() == old
    started = [("client", LOADGEN, ""), ("prober", LOADGEN, "")]
    started += [(name, OBSERVER, "www-data") for name in ("netadmin-default", "netadmin-small")]
    assert stand_in.started == started
    programs.restart()
    assert stand_in.started == started, "a new one waits until it is asked for"
    assert len({id(program) for program in (*old, *all_of_them())}) == 8
    assert stand_in.started == started * 2
    assert [conversation.closed for conversation in stand_in.conversations] == [True] * 4 + [False] * 4
    assert stand_in.programs(prober=False).prober is None, "of a lab that has none"


def test_a_backend_is_attached_to_once_and_stays_when_programs_start_anew() -> None:
    """It is its container's own program: another conversation with it would hear answers to the one before."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    backend = programs.backend("backend")
    programs.restart()
    assert programs.backend("backend") is backend
    assert stand_in.started == [("backend", ["its own program"], "")]
    assert not stand_in.conversations[0].closed


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
    assert stage.ask(look, lasts_s=5.0) == stage.timed(look).answer == GAPS[5.0]
    (client,) = stand_in.conversations
    assert stand_in.started == [("client", LOADGEN, "")]
    assert (client.asked, client.lasts_s) == ([look] * 2, [5.0, 0.0])
