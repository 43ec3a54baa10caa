"""Other programs' problems are not findings about nginx; symptoms without a known cause are reported."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    BACK,
    FRONT,
    both_legs,
    capture,
    causes,
    established,
    evidence,
    listening,
    load_run,
    log,
    lossy,
    pidstat,
    readings,
    scheduled,
    screen,
    seen,
    service,
    spread,
    table,
    verdict,
)
from tuneproof.errors import BadInputError
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.diagnosis.render import headline, rows
from tuneproof.explain.diagnosis.service_in_question import narrowed
from tuneproof.explain.diagnosis.shares import lower_limit
from tuneproof.explain.diagnosis.signs.legs import Leg, captured_services
from tuneproof.explain.parse import error_log
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.explain.parse.machine import CpuInterval, FullDisks, MachineCpu
from tuneproof.explain.parse.sockets.table import SocketAddress, SocketEntry


def other(port: int, **values: Any) -> ServiceSummary:
    return service(Endpoint(address="10.0.0.2", port=port), **{"requests": 0, "response_s": None, **values})


SCANNED = [other(port, flows=1, refused=1, handshakes={"refused": 1}) for port in (23, 3389)]
# ssh with high loss, DNS over TCP, and a metadata service that does not exist.
OTHERS = [
    other(22, flows=1, **lossy(0.4)),
    other(53, flows=6),
    service(
        Endpoint(address="169.254.169.254", port=80), flows=3, unanswered=3, requests=0, handshakes={"unanswered": 3}
    ),
]
STALLED_LOG = log(
    connect_time_s=spread(0.001, 0.25),
    client_closed_499=12,
    closed_499_without_time=8,
    request_time_s=spread(0.05, 0.4),
)
UNSEEN_FIN: dict[str, Any] = {"served_gone_client_flows": 28}


STALLED: Mapping[str, Sequence[Any]] = {
    "captures": [capture(service(**UNSEEN_FIN), *SCANNED)],
    "access_logs": [STALLED_LOG],
    "processes": [scheduled((10.0, 1.0), (12.0, 1.1))],
}
NO_UNTIMED_499 = {"access_logs": [replace(STALLED_LOG, closed_499_without_time=0)]}
NO_DATA_AFTER_FIN = {"captures": [capture(service())]}
LATE_IN_CAPTURE = [
    named.content for named in both_legs(UNSEEN_FIN, {"handshake_s": spread(0.001, 0.25)}, matched=0).captures
]


@pytest.mark.parametrize(
    "changes",
    [{}, NO_UNTIMED_499, NO_DATA_AFTER_FIN, {"processes": []}],
    ids=["all", "no-499-without-time", "no-data-after-fin", "cpu-unknown"],
)
def test_late_connects_and_one_more_sign_show_a_stall(changes: dict[str, Sequence[Any]]) -> None:
    """A second sign is enough if the worker did not wait for a CPU; if that is unknown, all three signs are needed."""
    diagnosis = diagnose(evidence(**{**STALLED, **changes}))
    assert causes(diagnosis) == [Cause.EVENT_LOOP_STALL]
    assert headline(diagnosis) == "LIKELY: nginx's event loop stalls"
    assert "Confirm" in {row.label for row in rows(diagnosis)}
    assert [(each.cause, each.of) for each in diagnosis.consequences] == [(Cause.CLIENT_GONE, Cause.EVENT_LOOP_STALL)]


@pytest.mark.parametrize(
    "changes",
    [
        {"access_logs": [replace(STALLED_LOG, connect_time_s=spread(0.001))]},
        {"captures": LATE_IN_CAPTURE},
        {"processes": [scheduled((10.0, 1.0), (12.0, 5.0))]},
        {"processes": [], **NO_UNTIMED_499},
        {"processes": [], **NO_DATA_AFTER_FIN},
        {
            "captures": [capture(service(**{**UNSEEN_FIN, "served_gone_client_flows": 3, "flows": 2000}))],
            "access_logs": [replace(STALLED_LOG, closed_499_without_time=3, requests=2000)],
        },
    ],
    ids=["no-late-connect", "late-in-capture", "starved", "cpu-unknown-a", "cpu-unknown-b", "too-few"],
)
def test_a_stall_is_not_certain_if_its_signs_may_have_another_cause(changes: dict[str, Sequence[Any]]) -> None:
    """Clients that abort may explain two of the signs, a distant backend the third, and a lack of CPU all of them."""
    assert verdict(diagnose(evidence(**{**STALLED, **changes})), Cause.EVENT_LOOP_STALL) is CauseVerdict.POSSIBLE


def test_a_stall_is_found_although_loss_is_possible() -> None:
    front = lossy(0.008, requests=200)
    diagnosis = diagnose(both_legs(front, request_s=spread(0.05, 0.4)))
    assert causes(diagnosis) == [Cause.EVENT_LOOP_STALL]
    assert verdict(diagnosis, Cause.PATH_LOSS) is CauseVerdict.POSSIBLE


def test_problems_of_other_services_are_left_out() -> None:
    given = seen(capture(service(), *OTHERS, *SCANNED))
    diagnosis = diagnose(given)
    assert diagnosis.healthy
    assert causes(diagnosis) == []
    assert screen(given)[0] == "No problem found in these files; other evidence may still show one."
    assert screen(given)[-1].startswith("Left out: 12 connections to 5 other services")


def test_refused_connections_from_nginxs_own_machine_are_not_a_scan() -> None:
    """They may be to an upstream on the same machine."""
    for clients, found in (({"10.0.0.2"}, [Cause.REFUSED]), ({"198.51.100.7"}, [])):
        upstream = silent("10.0.0.2", 9000, 60, refused=60, handshakes={"refused": 60}, clients=frozenset(clients))
        assert causes(diagnose(seen(capture(service(), upstream)))) == found


def test_all_connections_count_although_a_summary_keeps_only_some_services() -> None:
    tries = [other(port, flows=1, refused=1, handshakes={"refused": 1}) for port in range(1000, 1063)]
    beside = replace(capture(service(), *tries), flows=500)
    assert screen(seen(beside))[-1].startswith("Left out: 300 connections to 63 or more other services")
    alone = replace(capture(*tries), flows=300)
    assert any("were answered with RST, of 300 in the capture" in line for line in screen(seen(alone)))


def silent(address: str, port: int, flows: int, **values: Any) -> ServiceSummary:
    """Return a service to which all attempts to connect failed."""
    none = {"from_client": Side(packets=flows), "from_server": Side(), "requests": 0, "handshakes": {}}
    return service(Endpoint(address=address, port=port), flows=flows, **{**none, **values})


@pytest.mark.parametrize(
    ("tried", "counts"),
    [
        (silent("10.0.0.9", 9000, 100, refused=100), True),
        (silent("10.0.0.9", 9000, 19, refused=19), False),
        (silent("10.0.0.2", 23, 100, refused=100), False),
        (silent("10.0.0.2", 23, 100, refused=60, unanswered=40), False),
        (silent("2001:db8::2", 80, 100, refused=100), False),
        (silent("10.0.0.2", 443, 100, half_open=100), True),
    ],
    ids=["a-backend", "a-few-tries", "a-closed-port", "a-firewall", "ipv6-before-ipv4", "somebody-listens"],
)
def test_a_service_with_only_failed_attempts_is_kept_if_it_may_be_nginx_or_an_upstream(
    tried: ServiceSummary, *, counts: bool
) -> None:
    narrow = narrowed(seen(capture(service(), tried)))
    kept = [each.server for each in narrow.evidence.captures[0].content.services]
    assert kept == ([FRONT, tried.server] if counts else [FRONT])
    assert narrow.evidence.other_services == (() if counts else (tried,))


def test_a_tls_service_is_kept_instead_of_a_busier_database() -> None:
    """TLS hides requests. Of two services without any data, the busier one is kept."""
    secured = service(requests=0, response_s=None, tls_flows=200)
    database = other(5432, flows=2000, from_client=Side(packets=9000, data_segments=4000, payload_bytes=10**6))
    syns, few = silent("10.0.0.2", 80, 100, half_open=100), silent("10.0.0.2", 23, 4, refused=4)
    for counts, beside in ((secured, database), (syns, few)):
        narrow = narrowed(seen(capture(counts, beside)))
        assert narrow.evidence.captures[0].content.services == (counts,)


def test_servers_that_nginxs_host_connects_to_are_backends() -> None:
    """The host may listen on the same port itself."""
    to_backend = replace(established(port=41_000), peer=SocketAddress(host=BACK.address, port=BACK.port))
    given = seen(service(BACK), table(listening(BACK.port), to_backend))
    assert [where.leg for where in captured_services(given)] == [Leg.BACK]
    assert [where.leg for where in captured_services(replace(given, sockets=given.sockets[:0]))] == [Leg.UNKNOWN]


def test_the_service_in_question_can_be_selected() -> None:
    given = seen(capture(service(), *OTHERS))
    ssh = Endpoint(address="10.0.0.2", port=22)
    assert causes(diagnose(given, ssh)) == [Cause.PATH_LOSS]
    with pytest.raises(BadInputError, match="no capture contains connections to it") as caught:
        diagnose(given, Endpoint(address="10.0.0.2", port=9))
    assert caught.value.remedy.startswith(f"use one of: {FRONT}")


def test_a_services_backends_are_kept_with_it() -> None:
    """Their addresses differ from the service's, and they may refuse all connections."""
    (legs,) = both_legs(request_s=spread(0.05, 0.4)).captures
    amid = seen(replace(legs.content, services=(*legs.content.services, *OTHERS)))
    for diagnosis in (diagnose(amid), diagnose(amid, FRONT), diagnose(amid, BACK)):
        assert causes(diagnosis) == [Cause.EVENT_LOOP_STALL]
    down = service(BACK, flows=200, refused=200, handshakes={"refused": 200}, requests=0, response_s=None)
    assert causes(diagnose(seen(capture(service(), down, *SCANNED)))) == [Cause.REFUSED]


def test_one_slow_socket_of_thousands_is_rare() -> None:
    """One of three is not rare, and neither is one with a very long queue."""
    slow, heavy = (established(mib << 20, rwnd_limited_ms=5000.0, busy_ms=5000.0) for mib in (1, 64))
    many, few, much = (
        seen(table(listening(), one, *[established(0)] * others))
        for one, others in ((slow, 2140), (slow, 2), (heavy, 2140))
    )
    assert verdict(diagnose(many), Cause.SLOW_READER_BUFFERING) is CauseVerdict.RARE
    assert any(line.startswith("Rare: slow-reader buffering: ") for line in screen(many))
    assert causes(diagnose(few)) == causes(diagnose(much)) == [Cause.SLOW_READER_BUFFERING]


def test_five_connections_show_too_little() -> None:
    few = other(8000, flows=5, handshakes={"complete": 5}, from_server=Side(data_segments=9))
    assert screen(seen(capture(few)))[0] == "These files show too little to say whether all is well."


COPIED = service(from_server=Side(packets=8000, data_segments=6000, retransmitted_segments=5000, suspected_copies=4900))
REPEATED = service(from_server=Side(packets=8000, data_segments=6000, retransmitted_segments=5000))


SYMPTOMS = {
    "errors": (load_run(tool="wrk", failed_share=1.0, non_2xx=900), "wrk: 100 % of the requests failed."),
    "slow": (load_run(tool="wrk", latency_ms={"p50": 29_000.0}), "wrk: p50 latency is 29 s."),
    "timeouts": (load_run(errors={"timeout": 3}), "ab counted errors: timeout 3."),
    "streams": (
        log(request_time_s=spread(30.0), header_minus_connect_s=spread(0.01)),
        "p90 request time is 30 s, p99 30 s (median 30 s); upstreams begin to answer 10 ms (p90) after",
    ),
    "sometimes-slow": (
        log(request_time_s=spread(0.01, 2.0, slow_share=0.05, count=400), header_minus_connect_s=None),
        "p90 request time is 10 ms, p99 2 s (median 10 ms).",
    ),
    "slow although others left": (
        log(request_time_s=spread(0.01, 2.0), client_closed_499=1),
        "p90 request time of answered requests is 2 s, p99 2 s (median 10 ms)",
    ),
    "downloads": (
        log(request_time_s=spread(0.01, 9.0), header_minus_connect_s=None, sent_at_once_s=spread(0.02)),
        "p90 request time is 9 s, p99 9 s (median 10 ms); 20 ms (p90) for responses of up to 16 KiB: longer ones also",
    ),
    "hidden": (
        log(hidden_502=10),
        "In 10 of 200 requests, an upstream failed (502), and the client got another answer: another server's, a",
    ),
    "only downloads": (
        log(request_time_s=spread(9.0), header_minus_connect_s=None, short_200=0),
        "p90 request time is 9 s, p99 9 s (median 9 s); all responses are longer than 16 KiB, and take the time",
    ),
    "small responses are slow, too": (
        log(request_time_s=spread(0.01, 9.0), header_minus_connect_s=None, sent_at_once_s=spread(0.02, 9.0)),
        "p90 request time is 9 s, p99 9 s (median 10 ms).",
    ),
    "captured-5xx": (
        service(server_errors=50),
        "50 of 200 responses from 10.0.0.2:8000 have a status of 500 or above (25 %).",
    ),
    "SYN-SENT": (table(*[replace(established(), state="SYN-SENT")] * 20), "20 connections to "),
    "starved": (pidstat("%wait", 40.0, 60.0), "nginx waits for a CPU 50 % of the time (pidstat, %wait): "),
    "stolen": (
        MachineCpu(intervals=3, busy=0.6, stolen=0.3),
        "The machine's CPUs had to wait 50 % of the time in which they had work (steal): its hypervisor ran",
    ),
    "busy machine": (
        MachineCpu(intervals=3, busy=0.96, stolen=0.05),
        "The machine's CPUs were busy 96 % of the time: processes wait for a CPU.",
    ),
    "length": (
        load_run(errors={"length": 300}, non_2xx=100, failed_share=0.3),
        "ab: 30 % of the requests failed, 200 of them only because the response's length differs",
    ),
    "repeated": (capture(REPEATED), "5000 of 6200 segments with data were sent again (80.6 %)"),
    "late-answer": (
        service(response_s=spread(0.01, 1.03, slow_share=0.01), handshake_s=spread(0.035)),
        "10.0.0.2:8000 took 1.03 s for its slowest response, with handshakes of 35 ms.",
    ),
    "since-boot": (
        readings({"TcpExt.ListenDrops": 84_000_000}),
        "84000000 SYNs were dropped since boot (ListenDrops); take two readings to see when.",
    ),
    "5xx": (
        log(status_counts={200: 150, 503: 50}),
        "50 of 200 requests got a server error (25 %); nginx's error log has the reason, unless an upstream",
    ),
    "429": (log(status_counts={200: 150, 429: 50}), "50 of 200 requests were rejected as too many (429, 25 %)."),
    "4xx": (
        log(status_counts={200: 50, 403: 40, 404: 110}),
        "150 of 200 requests were answered with a client error, 110 of them with 404.",
    ),
    "403": (
        log(status_counts={403: 200}),
        "200 of 200 requests were answered with a client error, all of them with 403.",
    ),
    "408": (
        log(status_counts={200: 190, 408: 10}, incomplete_requests={408: 10}),
        "10 of 200 requests ended with 408 (5 %): nginx did not get the whole request within client_header_timeout",
    ),
    "400": (
        log(status_counts={200: 190, 400: 10}, incomplete_requests={400: 10}),
        "10 of 200 requests ended with 400 (5 %): the clients closed the connection before they had sent a request",
    ),
    "short": (
        log(short_200=10),
        "10 responses with status 200 are shorter than most for their URI: cut short, or other versions of it.",
    ),
}


@pytest.mark.parametrize(("given", "expected"), SYMPTOMS.values(), ids=SYMPTOMS)
def test_evidence_with_a_symptom_but_no_known_cause_is_not_healthy(given: object, expected: str) -> None:
    diagnosis = diagnose(seen(given))
    assert not diagnosis.healthy
    assert causes(diagnosis) == []
    text = screen(seen(given))
    assert text[0].startswith(("POSSIBLE: ", "NO CAUSE in these files"))
    assert any(line.startswith(f"Users: {expected}") for line in text), text


def recorded(busy: int, idle: int, *, stolen: float = 0.0, end: str = "", interval_s: int = 1) -> MachineCpu:
    """Return a recording in which the CPUs were busy for some intervals in a row, and hardly before and after."""
    bad = CpuInterval(busy=0.98, stolen=stolen, end=end)
    good = CpuInterval(busy=0.1, stolen=0.0, end=end and "00:00:01")
    return MachineCpu(
        intervals=busy + idle,
        busy=0.2,
        stolen=0.0,
        in_order=(*[good] * (idle - 1), *[bad] * busy, good),
        interval_s=interval_s,
    )


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        (recorded(3, 27), "busy 98 % of the time in 3 of 30 intervals in a row: processes wait for a CPU."),
        (recorded(3, 28), ""),
        (recorded(2, 2), ""),
        (recorded(60, 3540), "busy 98 % of the time in 60 of 3600 intervals in a row: processes"),
        (recorded(59, 3541), ""),
        (
            recorded(1, 143, end="10:20:01 AM", interval_s=600),
            "busy 98 % of the time in 1 of 144 intervals, which ended at 10:20:01 AM: processes wait",
        ),
        (recorded(1, 143, interval_s=59), ""),
        (recorded(3, 27, stolen=0.49), "had to wait 50 % of the time in which they had work (steal) in 3 of 30"),
    ],
)
def test_a_busy_period_within_a_long_recording_is_a_symptom(cpu: MachineCpu, expected: str) -> None:
    texts = [each.text for each in diagnose(seen(cpu)).symptoms]
    assert len(texts) == bool(expected)
    assert all(
        text.startswith(f"The machine's CPUs {expected if 'steal' in text else f'were {expected}'}") for text in texts
    )


@pytest.mark.parametrize(
    "cpu",
    [
        MachineCpu(intervals=2, busy=1.0, stolen=0.5),
        MachineCpu(intervals=9, busy=0.9, stolen=0.2),
        MachineCpu(intervals=9, busy=0.1, stolen=0.09),
    ],
    ids=["two seconds", "mostly running", "little work"],
)
def test_a_machine_with_free_cpus_is_no_symptom(cpu: MachineCpu) -> None:
    assert not diagnose(seen(cpu)).symptoms


def test_a_full_disk_is_reported_only_if_nginx_logged_one() -> None:
    """The full disk may be one that nginx does not use, such as one for backups."""
    full = FullDisks(mounts=("/var",), are_inodes=False)
    no_space = '2026/11/26 10:00:01 [crit] 7#7: *1 pwrite() "/var/a" failed (28: No space left on device), client: ::1'
    logged, unlogged = (
        error_log.parse([line])
        for line in (no_space, no_space.replace("28: No space left on device", "5: Input/output error"))
    )
    assert not diagnose(seen(full, unlogged)).symptoms
    (reason,) = diagnose(seen(full, logged)).symptoms
    assert reason.text == "No space is left on /var: writes to it fail."


@pytest.mark.parametrize("status", [403, 404, 429])
def test_rejected_requests_alone_do_not_call_for_a_capture(status: int) -> None:
    """A capture would show the same statuses; slow requests still call for one."""
    confirm = [line for line in screen(seen(log(status_counts={200: 50, status: 150}))) if line.startswith("Confirm")]
    assert len(confirm) == 1
    assert "$upstream_status" in confirm[0]
    both = screen(seen(log(status_counts={200: 50, status: 150}, request_time_s=spread(2.0))))
    assert any(line.startswith("Confirm") and "tcpdump" in line for line in both)


def test_a_server_error_calls_for_the_error_log_or_the_upstreams_status() -> None:
    """An error that an upstream responded with has no message in nginx's log."""
    confirm = [line for line in screen(seen(log(status_counts={200: 150, 503: 50}))) if line.startswith("Confirm")]
    assert len(confirm) == 1
    assert "error log" in confirm[0]
    assert "$upstream_status" in confirm[0]


def test_a_worker_that_waits_for_a_cpu_calls_for_its_quota_and_the_busiest_processes() -> None:
    confirm = [line for line in screen(seen(pidstat("%wait", 40.0, 60.0))) if line.startswith("Confirm")]
    assert confirm == [
        "Confirm: nr_throttled in cpu.stat of nginx's cgroup, twice; pidstat -u 10 1: which processes take the CPUs"
    ]


@pytest.mark.parametrize(("answered", "mentions"), [(400, 1), (380, 0)])
def test_prompt_upstreams_are_mentioned_only_if_they_answered_the_slow_requests(answered: int, mentions: int) -> None:
    """A request that nginx gave up after 5 s (504) has no time until the response header."""
    slow = spread(0.05, 5.0, slow_share=0.2, count=400)
    given = seen(log(requests=400, request_time_s=slow, header_minus_connect_s=spread(0.05, count=answered)))
    (symptom,) = diagnose(given).symptoms
    assert symptom.text.count("upstreams begin to answer") == mentions


def test_slow_connects_to_upstreams_are_not_taken_for_a_long_body() -> None:
    slow = spread(0.01, 3.0, slow_share=0.05, count=400)
    assert not diagnose(
        seen(log(requests=400, request_time_s=slow, header_minus_connect_s=spread(0.01, count=400)))
    ).symptoms
    connecting = log(
        requests=400, request_time_s=slow, connect_time_s=slow, header_minus_connect_s=spread(0.01, count=400)
    )
    (symptom,) = diagnose(seen(connecting)).symptoms
    assert symptom.text == "p90 request time is 10 ms, p99 3 s (median 10 ms)."


HALF_CLOSED: Final = replace(established(port=40_001), state="CLOSE-WAIT")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (
            [replace(HALF_CLOSED, program="nginx")] * 30,
            "30 of 30 connections from this host to 10.0.0.9:40000 are in CLOSE-WAIT: the other end has closed them",
        ),
        (
            [listening(), *[replace(HALF_CLOSED, local=established().local)] * 20, *[established()] * 180],
            f"20 of 200 connections to port {FRONT.port} of this host are in CLOSE-WAIT: the other end has closed them",
        ),
        (
            [replace(HALF_CLOSED, peer=SocketAddress(host="10.0.0.9", port=port)) for port in range(20)],
            "20 of 20 connections to port 40001 of this host are in CLOSE-WAIT",
        ),
    ],
    ids=["upstream", "clients", "no-listener-shown"],
)
def test_sockets_that_only_the_other_end_has_closed_are_a_symptom(entries: list[SocketEntry], expected: str) -> None:
    (symptom,) = diagnose(seen(table(*entries))).symptoms
    assert symptom.text.startswith(expected)
    assert ("the local program (nginx) has not" in symptom.text) == any(entry.program for entry in entries)
    assert any(line.startswith("Confirm: ss -tanp state close-wait") for line in screen(seen(table(*entries))))


@pytest.mark.parametrize(
    "entries", [[HALF_CLOSED] * 19, [*[HALF_CLOSED] * 20, *[replace(HALF_CLOSED, state="ESTAB")] * 181]]
)
def test_a_few_half_closed_sockets_are_no_symptom(entries: list[SocketEntry]) -> None:
    """Programs need a moment to close connections."""
    assert diagnose(seen(table(*entries))).symptoms == ()


@pytest.mark.parametrize(("requests", "begun_s"), [(400, 0.01), (200, 2.0)], ids=["long-bodies", "too-few"])
def test_a_few_slow_requests_are_not_a_symptom(requests: int, begun_s: float) -> None:
    """Long downloads begin in time, and 200 requests are too few for a p99."""
    slow = spread(0.01, 2.0, slow_share=0.05, count=requests)
    begun = spread(0.01, begun_s, slow_share=0.05, count=requests)
    assert diagnose(seen(log(requests=requests, request_time_s=slow, header_minus_connect_s=begun))).symptoms == ()


def test_packets_that_were_captured_twice_are_not_a_symptom() -> None:
    """With -i any, tcpdump captures a packet on a bridge and on its port."""
    diagnosis = diagnose(seen(capture(COPIED)))
    assert (diagnosis.healthy, diagnosis.symptoms) == (True, ())


@pytest.mark.parametrize(
    ("count", "of", "limit"),
    [(0, 9, 0.0), (1, 1, 0.025), (5, 5, 0.4782), (1, 2141, 1.18e-5), (20, 1000, 0.01226), (2500, 10_000, 0.2416)],
)
def test_the_lower_limit_of_a_share_is_that_of_clopper_and_pearson(count: int, of: int, limit: float) -> None:
    assert lower_limit(count, of) == pytest.approx(limit, rel=0.01)
