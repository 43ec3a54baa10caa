"""Counting trials: the steps before and after a script, and the calls that it can make."""

import base64
import itertools
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.canned_counters import SOFTNET
from tests.support.exchanged import answered, seen
from tests.support.fake_stage import FakeClock, following
from tests.support.joined import Answering, Joined
from tests.support.observed import STATUS, texts
from tuneproof.errors import LabError
from tuneproof.lab.load import rig as module
from tuneproof.lab.load import trial_nginx
from tuneproof.lab.load.counted import Counted, CountedRecord
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig, Told
from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.load.trial_nginx import CallCounts
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Step, Streams
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
from tuneproof.lab.subject.config import ERROR_LOG_PATH, RECORDER_PATH
from tuneproof.lab.subject.written_config import TLS_PORT
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


class Around:
    """A lab with programs that record their calls; these and the responses pass as lines of JSON."""

    def __init__(self) -> None:
        self.did: list[Any] = []
        self.workers: list[CannotDoError | tuple[ProcessTexts, ...]] = [(worker(7),)]
        self.answers: dict[str, object] = {
            "flows": EXCHANGED,
            "stand": None,
            "end_flows": EXCHANGED,
            "open_streams": None,
            "arrived": (ARRIVED,),
            "leave_streams": None,
        }
        self.clients: Iterator[str] = iter(())
        self.drops = [100]
        self.refuses = ""  # why a command in the subject fails
        self.asked: list[Call] = []  # of the client
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
    """The observer's program."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self.masters_wait = iter([False, True]).__next__
        self.calls = iter(
            [{"read": Calls(made=3, failed=1)}, {"read": Calls(made=10, failed=2, moved_bytes=9)}]
        ).__next__

    def signal(self, name: str, to: str) -> None:
        self._around.did.append(f"{name} {to}")

    def workers(self) -> WorkerTexts:
        found = following(self._around.workers)
        if isinstance(found, CannotDoError):
            raise found
        return WorkerTexts(workers=found, at_s=0.0)

    def counters(self) -> CounterTexts:
        dropped = f"TcpExt: ListenDrops\nTcpExt: {self._around.drops.pop(0)}\n"
        return CounterTexts(counters=dropped, softnet=SOFTNET, at_s=12.5)

    def sockets(self, port: int) -> SocketCounts:
        return self._around.left.get(port) or sockets(0 if "CONT workers" in self._around.did else 2)

    def turns(self, start_s: float, end_s: float) -> Turns:
        return Turns(workers=(), start_s=start_s, end_s=end_s)

    def sysctl(self, name: str) -> str | None:
        return {"some": "1", "none": None}[name]


class Supervised:
    """The other end of a supervisor, to which calls are words."""

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


def rig(around: Around) -> Rig:
    return Rig(around.stage, configuration="arm")


def test_nginx_is_started_before_the_script_and_ended_after_it() -> None:
    """Both happen even if something fails."""
    around = Around()

    def script(_rig: Rig) -> Mapping[str, float]:
        around.did.append("script")
        if around.did.count("script") == 2:
            raise LabError("no answer")
        return {"seen": 3}

    load = Counted(configuration="arm", script=script, counts_calls=True)
    outcome = load.run(around.stage, label="arm-b1")
    assert around.did == [("start", "arm", RECORDER_PATH), "script", ("stop",)]
    observation = load.observe(outcome)
    assert observation["seen"] == 3
    assert observation.measuring_s == outcome.measuring_s == 0
    assert load.metrics([observation]) == {"trials": 1, "seen": 3}
    assert load.metrics([observation, replace(observation, figures={"seen": 5})]) == {"trials": 2, "seen": 4}
    assert load.metrics([]) == {"trials": 0}
    with pytest.raises(LabError, match="no answer"):
        replace(load, counts_calls=False).run(around.stage, label="arm-b2")
    assert around.did[3:] == [("start", "arm"), "script", ("stop",)]


def test_a_configuration_that_is_only_tested_starts_nothing() -> None:
    """Nginx may refuse the configuration."""
    around = Around()
    load = Counted(configuration="arm", script=lambda rig: {"status": rig.test().status}, starts=False)
    assert load.run(around.stage, label="arm-b1").record.figures == {"status": 0}
    assert around.did == [("test", "arm")]


def test_the_clients_reports_are_kept_as_evidence() -> None:
    around = Around()
    load = Counted(configuration="arm", script=lambda rig: {"ok": statuses(rig.flow(Flow(path="/x")), 200)})
    record = load.run(around.stage, label="arm-b1").record
    asked = Call.of(Loadgen.flows, "172.18.0.4", 8000, (Flow(path="/x"),))
    assert record == CountedRecord(
        figures={"ok": 1}, seen=(Told(function="flows", asked=asked.arguments, answer=EXCHANGED),)
    )
    (told,) = json.loads(json.dumps(to_plain(record)))["seen"]
    assert (told["function"], told["asked"]["flows"][0]["path"]) == ("flows", "/x")
    assert [answer["status"] for answer in told["answer"][0][0]["answers"]] == [200, 0]


def test_flows_come_back_as_values() -> None:
    """Missing responses have status 0; some flows may start when others have ended."""
    around = Around()
    around.answers["flows"] = EXCHANGED * 2
    flows = (Flow(timeout_s=3.0), Flow(timeout_s=90.0))
    ((connection,), _) = rig(around).flows(*flows, port=8443)
    assert connection.closed_by_server
    assert [answer.status for answer in answers_of([connection])] == [200, 0]
    assert around.asked == [Call.of(Loadgen.flows, "172.18.0.4", 8443, flows)]


def test_streams_are_opened_read_and_closed() -> None:
    """They use the subject's own port, unless another is given."""
    around = Around()
    rig(around).open_streams(Streams())
    rig(around).open_streams(Streams(http2=True), port=8443)
    assert rig(around).arrived() == (ARRIVED,)
    rig(around).leave_streams()
    assert around.asked == [
        Call.of(Loadgen.open_streams, "172.18.0.4", 8000, (Streams(),)),
        Call.of(Loadgen.open_streams, "172.18.0.4", 8443, (Streams(http2=True),)),
        Call.of(Loadgen.arrived),
        Call.of(Loadgen.leave_streams),
    ]


def test_backends_are_reached_by_their_names_and_nginx_at_its_ports() -> None:
    around = Around()
    assert (rig(around).at(), rig(around).tls_endpoint) == (("172.18.0.4", 8000), ("172.18.0.4", TLS_PORT))
    rig(around).backend().seen()
    rig(around).backend("other").seen()
    assert around.did == [("backend", "seen"), ("other", "seen")]
    assert rig(around).backends() == ["backend", "own"], "neither another subject's nor another role's"


def test_a_client_that_waited_without_success_makes_the_trial_void() -> None:
    around = Around()
    around.answers["flows"] = ((CONNECTION, replace(CONNECTION, error="TIMEOUT")),)
    with pytest.raises(VoidTrialError, match="1 of 2 clients waited 3 s without success"):
        rig(around).flow(Flow(connections=2, timeout_s=3.0))


def test_connections_as_old_as_nginxs_timeout_make_the_trial_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent connections and streams alike, starting with the first of them."""
    clock, trial = FakeClock(), rig(Around())
    clock.replace_in(monkeypatch, module)
    with pytest.raises(VoidTrialError, match="after 60 s nginx closes"), trial.standing(Flow(then=(Step.STAY,))):
        clock.now_s += 61
    for _ in range(2):
        trial.open_streams(Streams())
        clock.now_s += 59
        trial.leave_streams()
    for _ in range(2):
        trial.open_streams(Streams())
        clock.now_s += 31
    with pytest.raises(VoidTrialError, match=r"this took 62\.0 s, and after 60 s nginx closes"):
        trial.leave_streams()


def test_a_required_response_is_a_precondition() -> None:
    whole = answered(200, worker=7, body_bytes=5, total_s=0.2)
    half, failed = replace(whole, complete=False), replace(whole, status=503)
    assert rig(Around()).ok([replace(CONNECTION, answers=(whole, whole))], requests=2) == 2
    for answers in ((whole,), (whole, half), (whole, failed)):
        with pytest.raises(VoidTrialError, match="1 of 2 requests got a complete 200"):
            rig(Around()).ok([replace(CONNECTION, answers=answers)], requests=2)


def test_connections_stay_open_during_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    around = Around()
    around.clock.replace_in(monkeypatch, module)
    trial = rig(around)
    with trial.standing(Flow(then=(Step.STAY,)), port=8443) as became:
        assert became == []
        around.did.append("look")
        around.clock.now_s += 5
    assert became == [(CONNECTION,)]
    assert around.did == [("stand", 8443), "look", ("end_flows", None)]
    assert trial.measured_s == 6.0, "both calls, and what is between"
    with pytest.raises(LabError, match="no answer"), trial.standing(Flow(then=(Step.STAY,))):
        raise LabError("no answer")
    assert around.did[-1] == ("end_flows", None)


def test_the_workers_rest_when_all_sleep_and_none_has_run() -> None:
    """A worker that has just fallen asleep may have been woken in between."""
    around = Around()
    states = [(0.1, False), (0.2, True), (0.3, True), (0.3, False), (0.3, True), (0.9, True)]
    around.workers = [(worker(7, run_s=run_s, is_asleep=asleep),) for run_s, asleep in states]
    rig(around).rest()
    assert len(around.workers) == 1, "the fifth reading is like the fourth, and asleep"


def test_a_number_is_steady_after_several_readings_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is ready to run may still change it, however long it has not."""
    monkeypatch.setattr(trial_nginx, "_BETWEEN_READINGS_S", 0.0)
    around = Around()
    busy, asleep = worker(7, is_asleep=False), worker(7)
    around.workers = [*[(busy,)] * 20, (asleep,)]
    readings = [5] * 20 + [7] * 30
    assert rig(around).steady(lambda: readings.pop(0)) == 7
    assert len(readings) == 30 - 10, "the first, one with work to do, and eight"


def test_connections_of_many_clients_use_the_next_addresses_in_turn() -> None:
    """Each connection has its own, up to 64; without many clients, the kernel chooses."""
    around = Around()
    around.clients = itertools.cycle(f"10.0.0.{number}" for number in range(100))
    for connections in (2, 3, 70):
        rig(around).flow(Flow(connections=connections))
    assert around.sources[:2] == [("10.0.0.0", "10.0.0.1"), ("10.0.0.2", "10.0.0.3", "10.0.0.4")]
    assert len(around.sources[2]) == 64
    alone = Around()
    rig(alone).flow(Flow(connections=2))
    assert alone.sources == [()]


def test_turns_are_those_from_now_on_by_the_clock_of_the_observer() -> None:
    assert rig(Around()).turns(3.0) == Turns(workers=(), start_s=12.5, end_s=15.5)


def test_calls_are_those_made_meanwhile() -> None:
    counts = rig(Around()).calls(lambda: None)
    assert counts["read"] == Calls(made=7, failed=1, moved_bytes=9)
    several = CallCounts({"read": counts["read"], "write": Calls(made=3)})
    assert (several.made("read"), several.made()) == (7, 10)


def test_connections_wait_behind_stopped_workers() -> None:
    around = Around()
    counts = rig(around).behind_stopped_workers(2)
    assert counts["read"].made == 7
    stand, end = ("stand", 8000), ("end_flows", None)
    assert around.did == ["STOP workers", stand, "CONT workers", end, "CONT workers"]


def test_a_port_that_an_earlier_trial_used_is_skipped() -> None:
    """Sockets of the earlier trial are in TIME-WAIT for a minute."""
    around = Around()
    assert rig(around).fresh_port([8100, 8101]) == 8101
    with pytest.raises(LabError, match="all ports from 8100 on"):
        rig(around).fresh_port([8100])


def test_a_condition_that_never_becomes_true_is_an_error_with_nginxs_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_nginx, "PATIENCE_S", 0.0)
    with pytest.raises(VoidTrialError, match="nginx container subject did not start 2 workers") as caught:
        rig(Around()).settle(2)
    assert "failed" in str(caught.value)


def test_an_nginx_without_its_title_is_awaited() -> None:
    """Between its start and its title, a search for the title finds none."""
    around = Around()
    around.workers[:0] = [CannotDoError("no process here")]
    rig(around).settle(1)
    assert len(around.workers) == 1


def test_a_burst_is_counted_once_each_connect_was_queued_or_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers are stopped meanwhile, and continue after any error."""
    around = Around()
    # Two of nine always wait; the others are dropped one after the other.
    around.drops = [100, 100, 103, 107, 108]
    assert rig(around).queue_behind_stopped_workers(9, port=80, listens_on=81) == 2
    assert around.drops == [108]
    assert around.did[0] == "STOP workers"
    assert set(around.did[1:]) == {("flows", 80), "CONT workers"}
    monkeypatch.setattr(trial_nginx, "PATIENCE_S", 0.0)
    around = Around()
    around.drops = [100] * 9
    with pytest.raises(VoidTrialError, match="neither queued nor dropped 9 connects"):
        rig(around).queue_behind_stopped_workers(9, port=80, listens_on=81)
    assert "CONT workers" in around.did


def test_readings_during_a_flow_are_returned() -> None:
    around = Around()
    assert rig(around).during(Flow(), lambda: 5) == (5, (CONNECTION,))
    assert around.did == [("flows", 8000)]


def test_requests_wait_behind_stopped_workers_during_a_call() -> None:
    around = Around()
    two = Flow(connections=2)
    became = rig(around).flows_behind_stopped_workers(two, then=lambda: around.did.append("done"))
    assert became == [EXCHANGED[0]]
    assert [done for done in around.did if isinstance(done, str)] == ["STOP workers", "done", "CONT workers"]
    with pytest.raises(ZeroDivisionError):
        rig(around).flows_behind_stopped_workers(Flow(connections=0), then=lambda: 1 / 0)
    assert [done for done in around.did if isinstance(done, str)][3:] == ["STOP workers", "CONT workers"]


def test_a_backend_resolves_names_for_the_system() -> None:
    around = Around()
    rig(around).resolve_by("backend")
    assert around.did == [("echo nameserver 172.18.0.5 >/etc/resolv.conf", "root")]


def test_logs_and_settings_are_read() -> None:
    """The script that starts nginx reads them; if nginx runs as long as the lab, the engine does."""
    around = Around()
    assert Rig(around.stage, configuration="").error_log() == f"fetched {ERROR_LOG_PATH}"
    assert rig(around).access_log() == [{"uri": "/", "status": "200"}]
    assert rig(around).error_log() == "failed"
    assert rig(around).kernel_has("some")
    assert not rig(around).kernel_has("none")
    assert rig(around).sysctl("none") is None


def test_a_log_is_read_until_it_has_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nginx logs a request after its response."""
    trial = rig(Around())
    line = {"uri": "/"}
    monkeypatch.setattr(trial, "access_log", iter([[], [line], [line] * 2, []]).__next__)
    assert trial.logged(2) == [line] * 2


def test_a_signal_is_handled_before_the_script_continues() -> None:
    around = Around()
    trial = rig(around)
    trial.edit("s/4/2/")
    trial.signal("HUP")
    assert around.did == [("edit", "s/4/2/"), "HUP master"]


def test_old_workers_are_awaited_until_they_announce_their_exit_or_are_gone() -> None:
    """A worker that has announced its exit and still works is not finished; new ones do not matter."""
    working, leaving, new = (
        (worker(pid, is_leaving=is_leaving, is_asleep=is_asleep),)
        for pid, is_leaving, is_asleep in ((7, True, False), (7, True, True), (8, False, True))
    )
    around = Around()
    around.workers = [working, leaving, new]
    rig(around).until_they_leave({7})
    assert around.workers == [new]
    around.workers = [working, leaving, new]
    rig(around).until_they_are_gone({7})
    assert around.workers == [new]


def test_killed_workers_have_successors_when_the_trial_continues() -> None:
    """Between the end of a worker and the start of its successor, there is none."""
    around = Around()
    old, new = worker(7), worker(8)
    around.workers = [(old,), (old,), CannotDoError("no worker"), (old, new), (new,), (new,)]
    rig(around).kill_workers("KILL")
    assert around.did == ["KILL workers"]
    assert following(around.workers) == (new,)


@pytest.mark.parametrize("refuses", ["", "bind() failed"])
def test_a_second_nginx_says_why_it_does_not_start(refuses: str) -> None:
    around = Around()
    around.refuses = refuses
    assert rig(around).start_another() == refuses
    assert around.did == [("/etc/subject/arm.conf", "")]
