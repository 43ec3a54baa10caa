"""Counting trials: the steps before and after a script, and the actions that a script can use."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.support.counted_trial import ARRIVED, CONNECTION, EXCHANGED, TrialLab, rig
from tests.support.exchanged import answered
from tests.support.fake_stage import FakeClock
from tuneproof.errors import LabError
from tuneproof.lab.load import rig as module
from tuneproof.lab.load import stage
from tuneproof.lab.load.counted import Counted, CountedRecord
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import ClientCall, Rig
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.exchanges import Flow, Step, Streams
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.subject.config import RECORDER_PATH
from tuneproof.lab.subject.written_config import TLS_PORT
from tuneproof.lab.topology.program import Call


def test_nginx_is_started_before_the_script_and_stopped_after_it() -> None:
    lab = TrialLab()

    def script(_rig: Rig) -> Mapping[str, float]:
        lab.did.append("script")
        if lab.did.count("script") == 2:
            raise LabError("no answer")
        return {"seen": 3}

    load = Counted(configuration="arm", script=script, counts_calls=True)
    outcome = load.run(lab.stage, label="arm-b1")
    assert lab.did == [("start", "arm", RECORDER_PATH), "script", ("stop",)]
    observation = load.observe(outcome)
    assert observation["seen"] == 3
    assert observation.measuring_s == outcome.measuring_s == 0
    assert load.metrics([observation]) == {"trials": 1, "seen": 3}
    assert load.metrics([observation, replace(observation, figures={"seen": 5})]) == {"trials": 2, "seen": 4}
    assert load.metrics([]) == {"trials": 0}
    with pytest.raises(LabError, match="no answer"):
        replace(load, counts_calls=False).run(lab.stage, label="arm-b2")
    assert lab.did[3:] == [("start", "arm"), "script", ("stop",)]


def test_nginx_is_not_started_for_a_configuration_that_is_only_tested() -> None:
    """Nginx may refuse the configuration."""
    lab = TrialLab()
    load = Counted(configuration="arm", script=lambda rig: {"status": rig.test().status}, starts=False)
    assert load.run(lab.stage, label="arm-b1").record.figures == {"status": 0}
    assert lab.did == [("test", "arm")]


def test_the_clients_reports_are_kept_as_evidence() -> None:
    lab = TrialLab()
    load = Counted(configuration="arm", script=lambda rig: {"ok": statuses(rig.flow(Flow(path="/x")), 200)})
    record = load.run(lab.stage, label="arm-b1").record
    call = Call.of(Loadgen.flows, "172.18.0.4", 8000, (Flow(path="/x"),))
    assert record == CountedRecord(
        figures={"ok": 1}, seen=(ClientCall(function="flows", asked=call.arguments, answer=EXCHANGED),)
    )
    (report,) = json.loads(json.dumps(to_plain(record)))["seen"]
    assert (report["function"], report["asked"]["flows"][0]["path"]) == ("flows", "/x")
    assert [answer["status"] for answer in report["answer"][0][0]["answers"]] == [200, 0]


def test_flows_run_in_one_call_that_returns_their_connections() -> None:
    """A missing response has status 0."""
    lab = TrialLab()
    lab.answers["flows"] = EXCHANGED * 2
    flows = (Flow(timeout_s=3.0), Flow(timeout_s=90.0))
    ((connection,), _) = rig(lab).flows(*flows, port=8443)
    assert connection.closed_by_server
    assert [answer.status for answer in answers_of([connection])] == [200, 0]
    assert lab.asked == [Call.of(Loadgen.flows, "172.18.0.4", 8443, flows)]


def test_streams_are_opened_read_and_closed() -> None:
    lab = TrialLab()
    rig(lab).open_streams(Streams())
    rig(lab).open_streams(Streams(http2=True), port=8443)
    assert rig(lab).arrived() == (ARRIVED,)
    rig(lab).leave_streams()
    assert lab.asked == [
        Call.of(Loadgen.open_streams, "172.18.0.4", 8000, (Streams(),)),
        Call.of(Loadgen.open_streams, "172.18.0.4", 8443, (Streams(http2=True),)),
        Call.of(Loadgen.arrived),
        Call.of(Loadgen.leave_streams),
    ]


def test_backends_are_reached_by_their_names_and_nginx_at_its_ports() -> None:
    lab = TrialLab()
    assert (rig(lab).at(), rig(lab).tls_endpoint) == (("172.18.0.4", 8000), ("172.18.0.4", TLS_PORT))
    rig(lab).backend().seen()
    rig(lab).backend("other").seen()
    assert lab.did == [("backend", "seen"), ("other", "seen")]
    assert rig(lab).backends() == ["backend", "own"], (
        "backends of other nginx containers, and other roles, do not belong here"
    )


def test_a_client_that_timed_out_makes_the_trial_void() -> None:
    lab = TrialLab()
    lab.answers["flows"] = ((CONNECTION, replace(CONNECTION, error="TIMEOUT")),)
    with pytest.raises(VoidTrialError, match="1 of 2 clients timed out after 3 s"):
        rig(lab).flow(Flow(connections=2, timeout_s=3.0))


def test_connections_as_old_as_nginxs_timeout_make_the_trial_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """This applies to silent connections and to streams. Several streams are as old as the oldest one."""
    clock, trial = FakeClock(), rig(TrialLab())
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
    with pytest.raises(VoidTrialError, match=r"the trial took 62\.0 s, and after 60 s nginx closes"):
        trial.leave_streams()


def test_an_incomplete_missing_or_failed_response_makes_the_trial_void() -> None:
    whole = answered(200, worker=7, body_bytes=5, total_s=0.2)
    half, failed = replace(whole, complete=False), replace(whole, status=503)
    assert rig(TrialLab()).ok([replace(CONNECTION, answers=(whole, whole))], requests=2) == 2
    for answers in ((whole,), (whole, half), (whole, failed)):
        with pytest.raises(VoidTrialError, match="1 of 2 requests got a complete 200"):
            rig(TrialLab()).ok([replace(CONNECTION, answers=answers)], requests=2)


def test_connections_stay_open_during_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = TrialLab()
    lab.clock.replace_in(monkeypatch, module)
    trial = rig(lab)
    with trial.standing(Flow(then=(Step.STAY,)), port=8443) as results:
        assert results == []
        lab.did.append("look")
        lab.clock.now_s += 5
    assert results == [(CONNECTION,)]
    assert lab.did == [("start_flows", 8443), "look", ("end_flows", None)]
    assert trial.measured_s == 6.0, "both calls, and the time between them"
    with pytest.raises(LabError, match="no answer"), trial.standing(Flow(then=(Step.STAY,))):
        raise LabError("no answer")
    assert lab.did[-1] == ("end_flows", None)


def test_each_flow_uses_the_next_client_addresses() -> None:
    """Up to 64 connections have one address each. Without client addresses, the kernel chooses."""
    lab = TrialLab()
    lab.clients = itertools.cycle(f"10.0.0.{number}" for number in range(100))
    for connections in (2, 3, 70):
        rig(lab).flow(Flow(connections=connections))
    assert lab.sources[:2] == [("10.0.0.0", "10.0.0.1"), ("10.0.0.2", "10.0.0.3", "10.0.0.4")]
    assert len(lab.sources[2]) == 64
    alone = TrialLab()
    rig(alone).flow(Flow(connections=2))
    assert alone.sources == [()]


def test_connections_wait_behind_stopped_workers() -> None:
    lab = TrialLab()
    counts = rig(lab).behind_stopped_workers(2)
    assert counts["read"].made == 7
    stand, end = ("start_flows", 8000), ("end_flows", None)
    assert lab.did == ["STOP workers", stand, "CONT workers", end, "CONT workers"]


def test_a_port_that_an_earlier_trial_used_is_skipped() -> None:
    """The earlier trial's sockets are in TIME-WAIT for a minute."""
    lab = TrialLab()
    assert rig(lab).fresh_port([8100, 8101]) == 8101
    with pytest.raises(LabError, match="all ports from 8100 on"):
        rig(lab).fresh_port([8100])


def test_a_burst_is_counted_after_every_connect_was_queued_or_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = TrialLab()
    # Two of nine connects are queued, and the other seven are dropped gradually.
    lab.drops = [100, 100, 103, 107, 108]
    assert rig(lab).queue_behind_stopped_workers(9, port=80, listens_on=81) == 2
    assert lab.drops == [108]
    assert lab.did[0] == "STOP workers"
    assert set(lab.did[1:]) == {("flows", 80), "CONT workers"}
    monkeypatch.setattr(stage, "PATIENCE_S", 0.0)
    lab = TrialLab()
    lab.drops = [100] * 9
    with pytest.raises(VoidTrialError, match="did not queue or drop 9 connects"):
        rig(lab).queue_behind_stopped_workers(9, port=80, listens_on=81)
    assert "CONT workers" in lab.did


def test_readings_during_a_flow_are_returned() -> None:
    lab = TrialLab()
    assert rig(lab).during(Flow(), lambda: 5) == (5, (CONNECTION,))
    assert lab.did == [("flows", 8000)]


def test_requests_wait_behind_stopped_workers_during_a_call() -> None:
    lab = TrialLab()
    two = Flow(connections=2)
    results = rig(lab).flows_behind_stopped_workers(two, then=lambda: lab.did.append("done"))
    assert results == [EXCHANGED[0]]
    assert [step for step in lab.did if isinstance(step, str)] == ["STOP workers", "done", "CONT workers"]
    with pytest.raises(ZeroDivisionError):
        rig(lab).flows_behind_stopped_workers(Flow(connections=0), then=lambda: 1 / 0)
    assert [step for step in lab.did if isinstance(step, str)][3:] == ["STOP workers", "CONT workers"]


def test_a_backend_becomes_the_systems_name_server() -> None:
    lab = TrialLab()
    rig(lab).resolve_by("backend")
    assert lab.did == [("echo nameserver 172.18.0.5 >/etc/resolv.conf", "root")]
