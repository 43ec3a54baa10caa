"""Event loops that come round late."""

from dataclasses import replace

import pytest

from tests.support.canned_evidence import (
    BACK,
    FRONT,
    both_legs,
    capture,
    evidence,
    log,
    pidstat,
    repeated_syns,
    scheduled,
    service,
    spread,
    worker,
)
from tuneproof.explain.diagnosis.causes.event_loop_stall import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Side

_LATE = spread(0.001, 0.3)


def test_requests_that_nginx_holds_prove_it() -> None:
    """Both legs on one clock show where a request waits."""
    found = assess(both_legs(request_s=spread(0.033, 0.4)))
    assert found.verdict is CauseVerdict.FOUND
    assert "holds a request for 33 ms (median), 400 ms (p90) and 400 ms (p99)" in found.for_[0].text


def test_responses_that_nginx_holds_prove_it() -> None:
    """The backend has answered, and the client waits."""
    assert assess(both_legs(response_held_s=spread(0.001, 0.2))).verdict is CauseVerdict.FOUND


def test_connections_to_the_backend_that_stand_unused_prove_it() -> None:
    """The kernel has finished the handshake, and nginx does not look: this is the log's long uct."""
    found = assess(both_legs(connected_held_s=spread(0.001, 0.3)))
    assert found.verdict is CauseVerdict.FOUND
    assert "a request whose connection to the backend stands for 1 ms (median), 300 ms (p90)" in found.for_[0].text


def test_an_occasional_stall_is_proof_as_well() -> None:
    """One request in fifty waits for half a second, as in the article; less than a fifth of that leaves it open."""
    assert assess(both_legs(request_s=spread(0.001, 0.5, slow_share=0.02))).verdict is CauseVerdict.FOUND
    assert assess(both_legs(request_s=spread(0.001, 0.09, slow_share=0.02))).verdict is CauseVerdict.NOT_SEEN


def test_a_median_above_an_idle_worker_s_slowest_turns_is_proof() -> None:
    """Every request waits for 21 ms; 19 ms are a busy machine's."""
    assert assess(both_legs(request_s=spread(0.021))).verdict is CauseVerdict.FOUND
    assert assess(both_legs(request_s=spread(0.019))).verdict is CauseVerdict.RULED_OUT


def test_gaps_of_a_busy_machine_do_not() -> None:
    """A fifth of the requests waits 30 ms for the scheduler; nginx passes the others on at once."""
    found = assess(both_legs(request_s=spread(0.001, 0.03)))
    assert found.verdict is CauseVerdict.RULED_OUT
    assert "within 30 ms (p99)" in found.against[0].text


def test_too_few_requests_tell_nothing() -> None:
    """Nineteen give no percentiles."""
    assert assess(both_legs(request_s=spread(0.4), matched=19)).verdict is CauseVerdict.NOT_SEEN
    assert assess(both_legs(request_s=spread(0.4), matched=20)).verdict is CauseVerdict.FOUND


@pytest.mark.parametrize("kind", ["schedstat", "pidstat"])
def test_a_worker_that_waits_for_a_cpu_is_no_proof(kind: str) -> None:
    """A machine without a free CPU makes any program late."""
    starved = {
        "schedstat": evidence(processes=[scheduled((1.0, 0.0), (2.0, 1.0))]),
        "pidstat": evidence(pidstat=[pidstat("%wait", 40.0, 60.0)]),
    }[kind]
    found = assess(replace(starved, captures=both_legs(request_s=spread(0.1)).captures))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "nginx waits for a CPU 50 % of the time" in found.against[0].text


def test_a_worker_that_has_its_cpu_is_told_as_well() -> None:
    """It waits for 2 % of the time: that is not the reason."""
    given = replace(evidence(processes=[scheduled((98.0, 2.0))]), captures=both_legs(request_s=spread(0.1)).captures)
    found = assess(given)
    assert found.verdict is CauseVerdict.FOUND
    assert "nginx waits for a CPU only 2 % of the time" in found.for_[-1].text


def test_late_connects_of_one_worker_prove_it() -> None:
    """The backend's kernel answers all workers alike."""
    found = assess(evidence(access_logs=[log(workers=(worker(11, spread(0.001)), worker(12, _LATE)))]))
    assert found.verdict is CauseVerdict.FOUND
    assert "Worker 12 takes 300 ms (p90) to connect to the backend, worker 11 1 ms" in found.for_[0].text


@pytest.mark.parametrize(
    ("slow_s", "fast_s", "verdict"),
    [(0.032, 0.001, CauseVerdict.FOUND), (0.03, 0.001, CauseVerdict.NOT_SEEN), (0.09, 0.02, CauseVerdict.NOT_SEEN)],
    ids=["32 and 1 ms", "30 and 1 ms", "90 and 20 ms"],
)
def test_workers_must_differ_by_more_than_the_scheduler(slow_s: float, fast_s: float, verdict: CauseVerdict) -> None:
    """More than its gaps of 30 ms, and five times the fastest worker."""
    workers = (worker(11, spread(fast_s)), worker(12, spread(slow_s)))
    assert assess(evidence(access_logs=[log(workers=workers)])).verdict is verdict


def test_late_connects_of_all_workers_only_fit_it() -> None:
    """Without a capture nobody knows how long the handshakes took; the commands that tell are named."""
    found = assess(evidence(access_logs=[log(connect_time_s=_LATE, workers=(worker(11, _LATE), worker(12, _LATE)))]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert any("tcpdump" in each for each in found.would_decide)
    assert any("$pid $connection" in each for each in found.would_decide)


def test_late_connects_that_are_fast_on_the_wire_prove_it() -> None:
    """The log's times lie: the kernel answered at once, and nginx looked late."""
    given = replace(evidence(access_logs=[log(connect_time_s=_LATE)]), captures=both_legs(matched=0).captures)
    found = assess(given)
    assert found.verdict is CauseVerdict.FOUND
    assert "300 ms (p90), but on the wire the backend answers within 20 ms (p90)" in found.for_[0].text
    assert found.for_[0].file == "access_logs 1, captures 1"


def test_late_connects_that_are_late_on_the_wire_prove_nothing() -> None:
    """SYNs that had to be sent again are in both."""
    slow = both_legs(back=repeated_syns(handshake_s=spread(0.0001, 1.0)), matched=0)
    found = assess(replace(evidence(access_logs=[log(connect_time_s=_LATE)]), captures=slow.captures))
    assert found.verdict is CauseVerdict.POSSIBLE


@pytest.mark.parametrize(
    "connect_s",
    [spread(0.0, 0.04), spread(0.0, 1.02), spread(0.1, 0.12), spread(0.0, 0.3, count=15)],
    ids=["40 ms", "a SYN timer", "a far backend", "few requests"],
)
def test_other_connect_times_are_no_sign(connect_s: object) -> None:
    """A busy machine, a lost SYN, a long way, or too few to tell."""
    assert assess(evidence(access_logs=[log(connect_time_s=connect_s)])).verdict is CauseVerdict.NOT_SEEN


def test_499s_without_time_fit_it() -> None:
    """The worker finds the request and the client's goodbye in one turn; a log without times tells nothing."""
    assert assess(evidence(access_logs=[log(closed_499_without_time=3)])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(access_logs=[log(closed_499_without_time=2)])).verdict is CauseVerdict.NOT_SEEN
    assert assess(evidence(access_logs=[log(closed_499_without_time=None)])).verdict is CauseVerdict.NOT_SEEN


def test_data_for_clients_that_had_closed_fits_it() -> None:
    """Clients answer with RST; without one they had only closed their half."""
    resets = Side(packets=400, data_segments=200, resets=5)
    late = service(data_after_peer_fin_flows=5, from_client=resets)
    assert assess(evidence(captures=[capture(late)])).verdict is CauseVerdict.POSSIBLE
    half = service(data_after_peer_fin_flows=5, from_client=Side(packets=400))
    assert assess(evidence(captures=[capture(half)])).verdict is CauseVerdict.NOT_SEEN


def test_a_window_that_nginx_closes_to_the_backend_fits_it() -> None:
    """It does not read; a full buffer has the same effect."""
    given = both_legs(back={"from_client": Side(zero_windows=9, zero_window_episodes=2)}, matched=0)
    found = assess(given)
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "nginx closed its own receive window to 10.0.1.3:9000 2 times" in found.for_[0].text


def test_slow_answers_of_an_unknown_service_fit_it() -> None:
    """It may be nginx, or its backend."""
    assert assess(evidence(captures=[capture(service(FRONT, response_s=spread(0.2)))])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(captures=[capture(service(BACK))])).verdict is CauseVerdict.NOT_SEEN


def test_a_burst_that_met_a_late_worker_before_a_slow_backend_is_no_stall() -> None:
    """A tenth of the requests was held for 70 ms, and all of them waited for the backend for 200 ms."""
    given = both_legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.2))
    assert assess(given).verdict is CauseVerdict.POSSIBLE
    assert assess(both_legs(request_s=spread(0.0007, 0.07), backend_s=spread(0.02))).verdict is CauseVerdict.FOUND
