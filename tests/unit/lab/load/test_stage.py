"""What a load may touch: programs that start when they are needed, and jobs of the client."""

import types
from typing import TYPE_CHECKING, Any, cast

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.load.stage import Programs, Stage

if TYPE_CHECKING:
    from tuneproof.lab.network.agent import LinkAgent
    from tuneproof.lab.topology.lab import Lab

LOADGEN = ["python3", "-m", "loadgen"]
JOBS = ["python3", "-m", "loadgen.jobs"]
OBSERVER = ["python3", "-m", "netadmin.observer"]


class Conversation:
    """A channel that answers one thing, and remembers what it was asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []
        self.timeouts_s: list[float] = []
        self.closed = 0

    def ask(self, question: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Return the answer."""
        self.asked.append(question)
        self.timeouts_s.append(timeout_s)
        return self._answer

    def close(self) -> None:
        """Count it."""
        self.closed += 1


class StandInLab:
    """A lab in which programs start, and all give the same answer.

    Attributes:
        started: Programs in their order, as (container, command, user).
        conversations: What is said to them, likewise.
    """

    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self._answer = answer or {}
        self.started: list[tuple[str, list[str], str]] = []
        self.conversations: list[Conversation] = []

    @property
    def lab(self) -> "Lab":
        """This object, where a lab is wanted."""
        return cast("Lab", self)

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        def converse(command: list[str], *, user: str = "") -> Conversation:
            self.started.append((name, command, user))
            self.conversations.append(Conversation(self._answer))
            return self.conversations[-1]

        return types.SimpleNamespace(name=name, converse=converse)

    def programs(self, *, prober: bool = True) -> Programs:
        """Return its programs."""
        return Programs(
            self.lab,
            agent=lambda role: cast("LinkAgent", f"agent of {role}"),
            netadmin_of=lambda name: f"netadmin-{name}",
            prober=prober,
        )

    def stage(self) -> Stage:
        """Return the stage of the second of two subjects."""
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
    assert programs.jobs is programs.jobs
    assert programs.prober is programs.prober
    assert stand_in.started == [("client", LOADGEN, ""), ("client", JOBS, ""), ("prober", LOADGEN, "")]
    assert len({id(channel) for channel in (programs.loadgen, programs.jobs, programs.prober)}) == 3


def test_a_lab_without_a_prober_has_no_program_of_one() -> None:
    """The client probes then, by itself."""
    stand_in = StandInLab()
    assert stand_in.programs(prober=False).prober is None
    assert stand_in.started == []


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
    old = [programs.loadgen, programs.prober, programs.jobs, programs.observer("small")]
    programs.restart()
    assert [conversation.closed for conversation in stand_in.conversations] == [1, 1, 1, 1]
    assert len(stand_in.started) == 4, "a new one waits until it is asked for"
    new = [programs.loadgen, programs.prober, programs.jobs, programs.observer("small")]
    assert not any(one is other for one, other in zip(old, new, strict=True))
    assert stand_in.started[4:] == stand_in.started[:4]
    assert [conversation.closed for conversation in stand_in.conversations[4:]] == [0, 0, 0, 0]


def test_a_stage_is_one_subject_among_others() -> None:
    """Container, address and observer are this subject's."""
    stand_in = StandInLab()
    stage = stand_in.stage()
    assert (stage.address, stage.addresses["backend"]) == ("172.18.0.4", "172.18.0.5")
    assert cast("Any", stage.subject).name == "small"
    assert stage.observer is stage.programs.observer("small")
    assert stand_in.started == [("netadmin-small", OBSERVER, "www-data")]


def test_a_job_is_asked_of_the_client_by_name_with_its_arguments() -> None:
    """The answer comes back as it is; a job that lasts has all of its time, and some to spare."""
    stand_in = StandInLab({"refused": 3})
    stage = stand_in.stage()
    assert stage.job("connect_storm", lasts_s=5.0, connections=100) == {"refused": 3}
    assert stage.job("hold") == {"refused": 3}
    (jobs,) = stand_in.conversations
    assert stand_in.started == [("client", JOBS, "")]
    assert jobs.asked == [{"job": "connect_storm", "connections": 100}, {"job": "hold"}]
    lasting_s, short_s = jobs.timeouts_s
    assert lasting_s == short_s + 5
    assert short_s > 0


def test_a_job_that_failed_is_an_error_with_the_clients_words() -> None:
    """The message names the job, and the place."""
    stage = StandInLab({"error": "no more file descriptors"}).stage()
    with pytest.raises(LabError) as caught:
        stage.job("connect_storm")
    assert caught.value.what == "the client's connect_storm: no more file descriptors"
    assert caught.value.where == "container client"
