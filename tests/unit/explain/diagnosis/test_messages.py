"""The messages of all logs together: the most important one, its consequences, and the requests that it affects."""

from dataclasses import replace

import pytest

from tests.support.canned_evidence import grown, listening, seen, spread, table
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.diagnosis.messages import ENOUGH_MESSAGES, Messages, message_findings
from tuneproof.explain.diagnosis.render import headline, rows
from tuneproof.explain.diagnosis.render import to_json as document_of
from tuneproof.explain.diagnosis.render_messages import answer, details, to_json
from tuneproof.explain.parse import error_log
from tuneproof.explain.parse.access_log.known import COMBINED
from tuneproof.explain.parse.access_log.log_summary import LogSummary, summarise
from tuneproof.explain.parse.access_log.records import records
from tuneproof.explain.parse.access_log.sums import Outage

CIRCUMSTANCES = (
    'client: 10.0.0.{}, server: shop, request: "{} /a/{} HTTP/1.1", upstream: "http://10.0.0.5:80/a?x", host: "shop"'
)
REFUSED = "[error] 7#7: *1 connect() failed (111: Connection refused) while connecting to upstream, "
BIG = "[error] 7#7: *1 upstream sent too big header while reading response header from upstream, "
NONE_LEFT = "[error] 7#7: *1 no live upstreams while connecting to upstream, "
CLOSED = "[info] 7#7: *3 client 10.0.0.7 closed keepalive connection"
KILLED = "[alert] 1#1: worker process 7 exited on signal 9"
MISSING = '[error] 7#7: *1 open() "/srv/x" failed (2: No such file or directory), '


def written(*messages: str, second: int = 1, client: int = 9) -> list[str]:
    """Return the lines of a log with one line per second."""
    return [
        f"2026/11/26 09:{(second + number) // 60:02}:{(second + number) % 60:02} "
        + (message + CIRCUMSTANCES.format(client, "GET", number % 2) if message.endswith(", ") else message)
        for number, message in enumerate(messages)
    ]


def found(lines: list[str], requests: LogSummary | None = None) -> Messages:
    """Return the messages of an error log, compared with an access log if one is given."""
    return message_findings(evidence(lines, requests))


def evidence(lines: list[str], requests: LogSummary | None = None) -> EvidenceSet:
    return EvidenceSet(
        error_logs=(Named(name="error.log", content=error_log.parse(lines)),),
        access_logs=(Named(name="access.log", content=requests),) if requests is not None else (),
    )


def requests(number: int, failed: int, status: int = 502, hour: int = 9) -> LogSummary:
    """Return an access log of one hour, in which the first ``failed`` requests got this status."""
    made = (
        f'10.0.0.9 - - [26/Nov/2026:{hour:02}:{second * 59 // number:02}:00 +0100] "GET /a HTTP/1.1" '
        f'{status if second < failed else 200} 5 "-" "-"'
        for second in range(number)
    )
    return summarise(records(made, COMBINED), format_name="combined")


def test_a_finding_has_the_count_times_and_subjects_of_its_messages() -> None:
    (finding,) = found([*written(*[REFUSED] * 3), *written(*[REFUSED] * 2, second=100, client=8)]).problems
    assert (finding.row.id, finding.number) == ("upstream_refused", 5)
    assert (finding.upstreams, finding.requests, finding.servers) == ({"10.0.0.5:80": 5}, {"GET /a/*": 5}, {"shop": 5})
    _, logged, about, *_ = (line.text for line in answer(finding))
    assert logged == "5 messages, 2026/11/26 09:00:01 to 09:01:41 (2 min)."
    assert about == "upstream 10.0.0.5:80; request GET /a/*; server shop; clients 10.0.0.9 (3), 10.0.0.8 (2)."


def test_upstreams_without_one_that_stands_out_are_listed_as_examples() -> None:
    lines = [
        line.replace("10.0.0.5:80", f"10.0.1.{upstream}:80")
        for upstream in (1, 2, 3, 4)
        for line in written(*[REFUSED] * 9)
    ]
    (finding,) = found(lines).problems
    assert [line.text for line in answer(finding)][2].startswith(
        "4 upstreams, such as 10.0.1.1:80, 10.0.1.2:80, 10.0.1.3:80; "
    )


def test_a_dns_server_that_cannot_be_reached_is_named() -> None:
    failed = "[error] 7#7: recv() failed (111: Connection refused) while resolving, resolver: 10.0.0.{}:53"
    (finding,) = found(written(*map(failed.format, (2, 2, 3)))).looks
    assert "DNS servers 10.0.0.2:53 (2), 10.0.0.3:53 (1)." in [line.text for line in answer(finding)]
    (shown,) = to_json(found(written(failed.format("2"))))["found"]
    assert shown["resolvers"] == {"10.0.0.2:53": 1}


@pytest.mark.parametrize(
    ("messages", "clients"),
    [
        ((5, 4, 3, 2), "4 clients, most 10.0.0.0 (5), 10.0.0.1 (4), 10.0.0.2 (3)."),
        ((5, 2, 2, 2), "4 clients, most 10.0.0.0 (5)."),
        ((2, 2, 2, 2), "; 4 clients."),
        ((2, *[1] * 18), "; 19 clients."),
        ((3, *[1] * 18), "; 19 clients, most 10.0.0.0 (3)."),
        ((2, 2, 2), "clients 10.0.0.0 (2), 10.0.0.1 (2), 10.0.0.2 (2)."),
    ],
)
def test_only_clients_with_more_messages_than_others_stand_out(messages: tuple[int, ...], clients: str) -> None:
    lines = [line for client, number in enumerate(messages) for line in written(*[REFUSED] * number, client=client)]
    (finding,) = found(lines).problems
    assert [line.text for line in answer(finding)][2].endswith(clients)


@pytest.mark.parametrize(
    ("last", "lasted"),
    [
        ("26 09:00:59", "58 s"),
        ("26 09:01:01", "1 min"),
        ("26 10:59:00", "119 min"),
        ("26 11:30:01", "2 h"),
        ("28 08:00:01", "47 h"),
        ("29 09:00:01", "3 days"),
    ],
)
def test_the_time_from_the_first_message_to_the_last_has_a_fitting_unit(last: str, lasted: str) -> None:
    (finding,) = found([*written(BIG), *(line.replace("26 09:00:01", last) for line in written(BIG))]).problems
    (logged, *_) = (line.text for line in answer(finding) if line.label == "Logged")
    assert logged.endswith(f"({lasted}).")


def test_a_message_that_follows_from_another_is_not_a_problem_itself() -> None:
    """The consequence may be logged more often than its cause. Without the cause, the consequence is the problem."""
    (finding,) = found(written(REFUSED, *[NONE_LEFT] * 9)).problems
    assert finding.row.id == "upstream_refused"
    assert [(each.row.id, each.number) for each in finding.consequences] == [("no_live_upstreams", 9)]
    assert [each.row.id for each in found(written(NONE_LEFT)).problems] == ["no_live_upstreams"]


def test_the_message_that_affects_most_requests_comes_first() -> None:
    """A killed worker counts as a hundred requests."""
    findings = found(written(*[REFUSED] * 3, *[BIG] * 5, KILLED))
    assert [each.row.id for each in findings.problems] == [
        "worker_killed_9",
        "upstream_too_big_header",
        "upstream_refused",
    ]


def test_with_equal_numbers_nginxs_own_messages_come_first() -> None:
    """An ingress controller repeats its message, however many requests fail."""
    controller = 'W1126 09:00:00.123456 7 a.go:1] Error obtaining Endpoints for Service "shop/cart": no object'
    findings = found([controller, *written(REFUSED)])
    assert [each.row.id for each in findings.problems] == ["upstream_refused", "ingress_service_missing"]
    findings = found([*[controller] * 2, *written(REFUSED)])
    assert [each.row.id for each in findings.problems] == ["ingress_service_missing", "upstream_refused"]


LIMITED = '[error] 7#7: *1 limiting requests, excess: 5.2 by zone "one", '


@pytest.mark.parametrize(("messages", "status", "asks"), [(20, 503, False), (20, 429, False), (19, 503, True)])
def test_errors_that_messages_explain_call_for_no_further_evidence(messages: int, status: int, *, asks: bool) -> None:
    given = evidence(written(*[LIMITED] * messages), replace(requests(200, 20, status), request_time_s=spread(0.01)))
    shown = list(rows(diagnose(given), message_findings(given)))
    assert [row.label for row in shown].count("Users") == 1
    assert any("$upstream_status" in row.text for row in shown if row.label == "Confirm") == asks


@pytest.mark.parametrize("messages", [40, 0])
def test_a_few_server_errors_are_reported_once(messages: int) -> None:
    """The message says how many requests got its status."""
    given = evidence(written(*[BIG] * messages, CLOSED), replace(requests(8_000, 40), outage=None))
    rare = [row.text for row in rows(diagnose(given), message_findings(given)) if row.label == "Rare"]
    assert len(rare) == 1
    assert (" got 502" in rare[0]) == bool(messages)


def test_ordinary_messages_share_one_line() -> None:
    findings = found(written(REFUSED, *[CLOSED] * 3, MISSING, "[notice] 1#1: start worker process 7"))
    assert [each.row.id for each in findings.ordinary] == ["worker_left", "client_closed_keepalive"]
    assert [each.row.id for each in findings.looks] == ["file_missing"]
    texts = {row.label: row.text for row in rows(diagnose(seen()), findings)}
    assert texts["Ordinary"] == (
        "4 of 6 messages (66.7 %) are harmless: nginx starts, reloads or stops (1), clients close idle connections (3)."
    )
    assert texts["Maybe"].startswith("A file does not exist: 1 message, at 2026/11/26 09:00:05. Next: Compare the path")


def test_the_headline_about_a_possible_problem_begins_with_logged() -> None:
    given = evidence(written(*[MISSING] * 30))
    summary = headline(diagnose(given), message_findings(given))
    assert (
        summary
        == "LOGGED: A file does not exist; whether that is a problem depends on how many there are, and from whom"
    )


def test_an_access_log_of_the_same_time_shows_how_many_requests_are_affected() -> None:
    """An access log from another hour is not used."""
    lines = written(*[BIG] * 40, second=600)
    (finding,) = found(lines, requests(200, 50)).problems
    assert (finding.of_requests, finding.answered, finding.is_rare) == (200, 50, False)
    (of_three,) = found(written(BIG, second=600), requests(3, 1)).problems
    assert not of_three.is_rare, "three requests are too few to show that a message is rare"
    (elsewhere,) = found(lines, requests(200, 50, hour=12)).problems
    assert (elsewhere.of_requests, elsewhere.answered) == (None, None)


def test_one_message_in_thousands_of_requests_is_rare() -> None:
    """The message is reported, but not in the headline."""
    given = evidence(written(BIG, second=600), requests(3000, 1))
    findings = message_findings(given)
    assert findings.leading is None
    assert not headline(diagnose(given), findings).startswith("FOUND")
    assert any(row.label == "Rare" and "response header" in row.text for row in rows(diagnose(given), findings))


def test_a_message_about_an_outage_of_minutes_is_not_rare() -> None:
    """The log has thousands of requests that succeeded. Another message from that time is still rare."""
    failed = replace(
        requests(8_000, 40), outage=Outage(begin_s=1_795_165_200, end_s=1_795_165_260, requests=100, failed=40)
    )
    given = evidence(written(*[REFUSED] * 40, BIG), failed)
    findings = message_findings(given)
    assert [each.row.id for each in findings.problems if not each.is_rare] == ["upstream_refused"]
    texts = [row.text for row in rows(diagnose(given), findings)]
    assert "40 of 100 requests got a server error (40 %) between 2026-11-20 10:00 and 10:01." in texts


@pytest.mark.parametrize(
    ("status", "request_s", "shown"), [(500, 0.01, "NO CAUSE"), (404, 0.01, "LOGGED"), (200, 3.0, "NO CAUSE")]
)
def test_missing_files_do_not_explain_server_errors_or_slow_requests(status: int, request_s: float, shown: str) -> None:
    slow = replace(requests(200, 120, status), request_time_s=spread(request_s))
    given = evidence(written(*[MISSING] * 30, second=60), slow)
    assert headline(diagnose(given), message_findings(given)).startswith(shown)


def test_the_message_in_the_headline_is_shown_with_its_server_client_and_confirmation() -> None:
    """The screen does not ask for request times, which the format combined lacks."""
    given = evidence(written(*[MISSING] * 30), requests(200, 0))
    shown = rows(diagnose(given), message_findings(given))
    texts = [(row.label, row.text) for row in shown if row.label in {"Maybe", "Confirm"}]
    (maybe, text), (confirm, command) = texts
    assert (maybe, confirm) == ("Maybe", "Confirm")
    assert "server shop; client 10.0.0.9. Next: " in text
    assert command.startswith("ls the path in the message")


def test_messages_about_clients_that_leave_are_not_harmless_if_that_is_the_cause() -> None:
    left = "[info] 7#7: *1 epoll_wait() reported that client prematurely closed connection, so upstream connection is "
    lines = written(*[f"{left}closed too while sending request to upstream, "] * 30, second=60)
    gone = replace(requests(200, 40, 499), request_time_s=spread(0.01))
    given = evidence(lines, gone)
    assert [each.cause for each in diagnose(given).found] == [Cause.CLIENT_GONE]
    assert diagnose(given).consequences == ()
    assert not [row.text for row in rows(diagnose(given), message_findings(given)) if row.label == "Ordinary"]
    maybe = evidence(lines, replace(requests(200, 40, 499), request_time_s=None))
    assert [each.cause for each in diagnose(maybe).possible] == [Cause.CLIENT_GONE]
    assert not [row.text for row in rows(diagnose(maybe), message_findings(maybe)) if row.label == "Ordinary"]
    there = evidence(lines, replace(requests(200, 0), request_time_s=spread(0.01)))
    assert [row.text for row in rows(diagnose(there), message_findings(there)) if row.label == "Ordinary"]


def test_a_502_with_its_reason_in_the_log_is_not_a_refusal() -> None:
    """Messages explain all 502s, so none is from a refused connection."""
    given = evidence(written(*[BIG] * 50, second=600), requests(200, 50))
    findings = message_findings(given)
    assert headline(diagnose(given), findings) == f"FOUND: {findings.problems[0].row.name}"
    assert not any("refused" in row.text for row in rows(diagnose(given), findings) if row.label in {"Open", "Also"})


def test_a_cause_that_the_answer_shows_is_not_open() -> None:
    waited = (
        "[error] 7#7: *1 upstream timed out (110: Connection timed out) while reading response header from upstream, "
    )
    slow = replace(requests(200, 50, 504), header_minus_connect_s=None, small_response_s=spread(0.01, 60.0))
    given = evidence(written(*[waited] * 50, second=600), slow)
    findings = message_findings(given)
    assert [each.cause for each in diagnose(given).possible] == [Cause.BACKEND_SLOW]
    assert headline(diagnose(given), findings) == "FOUND: An upstream does not answer in time"
    assert not [row.text for row in rows(diagnose(given), findings) if row.label == "Open"]


def test_the_consequences_of_a_message_add_to_its_weight() -> None:
    """Of two problems with one message each, the one with a consequence comes first."""
    denied = 'audit: type=1400 audit(1.1:9): apparmor="DENIED" operation="open" name="/srv/a" comm="nginx"'
    killed = "Out of memory: Killed process 7 (nginx) total-vm:9kB"
    findings = found([*(f"Nov 26 09:00:00 a kernel: {text}" for text in (denied, killed)), *written(KILLED)])
    assert [each.row.id for each in findings.problems] == ["oom_host", "apparmor_denied"]


def test_a_full_accept_queue_follows_from_a_lack_of_file_descriptors() -> None:
    full = seen(table(replace(listening(), recv_queue=600)))
    given = replace(
        full, error_logs=evidence(written(*["[crit] 7#7: accept4() failed (24: Too many open files)"] * 3)).error_logs
    )
    findings = message_findings(given)
    assert headline(diagnose(given), findings) == "FOUND: nginx has no file descriptor left for new clients"
    shown = list(rows(diagnose(given), findings))
    assert any(row.text.startswith("600 connections wait") for row in shown)
    assert [row.text[:24] for row in shown if row.label == "Next"] == ["Set worker_rlimit_nofile"]


def test_evidence_with_a_message_that_cannot_be_explained_is_not_healthy() -> None:
    healthy = replace(requests(200, 0), request_time_s=spread(0.01))
    given = evidence(written("[crit] 7#7: an unheard-of fault"), healthy)
    assert diagnose(given).healthy
    assert headline(diagnose(given), message_findings(given)) == (
        "No problem found in these files, but 1 message at level error or above cannot be explained."
    )
    assert not document_of(diagnose(given), message_findings(given))["healthy"]


def test_a_cause_from_other_evidence_comes_before_the_messages() -> None:
    given = seen(grown(ListenOverflows=90, ListenDrops=90))
    findings = found(written(*[BIG] * 5))
    assert headline(diagnose(given), findings) == "FOUND: The accept queue overflows"
    assert any(row.label == "Also" and "response header" in row.text for row in rows(diagnose(given), findings))


@pytest.mark.parametrize(("number", "causes"), [(ENOUGH_MESSAGES - 1, ()), (ENOUGH_MESSAGES, True)])
def test_a_cause_counts_as_not_logged_if_a_long_enough_log_lacks_its_message(number: int, causes: object) -> None:
    """A few lines show nothing: somebody may have selected them."""
    absent = found(written(*[BIG] * number)).not_logged()
    assert absent == causes or (causes is True and Cause.REFUSED in absent and Cause.NO_PORT in absent)
    assert Cause.REFUSED not in found(written(*[REFUSED] * number)).not_logged()


def test_without_level_error_only_causes_that_nginx_logs_at_crit_count_as_not_logged() -> None:
    """error_log may be set to a level above error."""
    crit = ["[crit] 7#7: accept4() failed (24: Too many open files)"] * ENOUGH_MESSAGES
    assert found(written(*crit)).not_logged() == (Cause.NO_PORT,)
    assert Cause.REFUSED in found(written(*crit, BIG)).not_logged()


def test_an_unknown_message_is_shown_if_its_level_is_error() -> None:
    findings = found(written("[error] 7#7: *1 a riddle", "[info] 7#7: *1 a riddle"))
    assert (findings.unknown, findings.unknown_examples) == (1, ("a riddle",))
    assert any(row.label == "Unknown" and "a riddle" in row.text for row in rows(diagnose(seen()), findings))


def test_details_and_json_contain_all_messages() -> None:
    findings = found(written(REFUSED, NONE_LEFT, MISSING, CLOSED))
    whole = "\n".join(details(findings))
    assert all(f"({row})" in whole for row in ("upstream_refused", "file_missing", "client_closed_keepalive"))
    document = to_json(findings)
    assert [each["id"] for each in document["found"]] == ["upstream_refused", "file_missing", "client_closed_keepalive"]
    assert document["found"][0]["consequences"][0]["id"] == "no_live_upstreams"


def test_many_clients_with_few_messages_each_are_counted_instead_of_listed() -> None:
    """At most 256 clients are kept, so there may be more."""
    lines = [written(REFUSED, client=number)[0] for number in range(200)]
    (finding,) = found(lines).problems
    text = "".join(line.text for line in answer(finding))
    assert "200 clients." in text
    (line,) = written(REFUSED)
    many = [line.replace("10.0.0.9", f"10.0.{number // 200}.{number % 200}") for number in range(400)]
    assert "256 or more clients." in "".join(line.text for line in answer(found(many).problems[0]))


STREAM = 'client: 10.0.0.9, server: 0.0.0.0:3306, upstream: "10.0.0.5:3306", bytes from/to client:0/0'


def test_messages_about_stream_connections_have_no_status() -> None:
    """Nor are these messages compared with the number of requests in an access log."""
    streams = written(*[REFUSED.rstrip(", ") + f", {STREAM}"] * 2)
    (finding,) = found(streams, requests(50, 5)).problems
    texts = {line.label: line.text for line in answer(finding)}
    assert "502" not in texts["Affects"]
    assert (finding.of_requests, finding.answered) == (None, None)
    (finding,) = found([*streams, *written(REFUSED)], requests(50, 5)).problems
    texts = {line.label: line.text for line in answer(finding)}
    assert "else 502; 2 messages about connections in stream" in texts["Affects"]
    assert finding.of_requests == 50


def test_a_consequence_for_stream_connections_has_no_status() -> None:
    timed_out = f"[error] 7#7: *1 upstream timed out (110: Connection timed out) while connecting to upstream, {STREAM}"
    none_left = f"{NONE_LEFT}{STREAM}"
    (finding,) = found(written(timed_out, none_left)).problems
    (follows,) = (line.text for line in answer(finding) if line.label == "Follows")
    assert follows == "No upstream server is considered alive: 1 message."


def test_the_next_step_for_stream_connections_suits_stream() -> None:
    """The step does not mention keepalive, unless HTTP requests are affected, too."""
    no_port = (
        "[crit] 7#7: *1 connect() to 10.0.0.5:80 failed (99: Cannot assign requested address) while connecting to "
    )
    streams = written(f"{no_port}upstream, {STREAM}")
    (finding,) = found(streams).problems
    assert "proxy_bind" in finding.row.first
    assert "keepalive" not in finding.row.first
    (finding,) = found([*streams, *written(f"{no_port}upstream, ")]).problems
    steps = [line.text for line in answer(finding) if line.label == "Next"]
    assert ["keepalive" in text for text in steps] == [True, False]
    (finding,) = found(written(f"[error] 7#7: *1 access forbidden by rule, {STREAM}")).looks
    assert "403" not in " ".join(line.text for line in answer(finding))


@pytest.mark.parametrize("starttls", ["", " using starttls"])
def test_the_next_step_for_mail_connections_suits_mail(starttls: str) -> None:
    """In mail{}, auth_http returns the server; there is no upstream block and no proxy_bind."""
    mail = f'client: 10.0.0.9{starttls}, server: 0.0.0.0:143, login: "a", upstream: 10.0.0.5:143'
    no_port = "[crit] 7#7: *1 connect() to 10.0.0.5:143 failed (99: Cannot assign requested address) while connecting "
    (finding,) = found(written(f"{no_port}to upstream, {mail}"), requests(50, 5)).problems
    texts = {line.label: line.text for line in answer(finding)}
    assert "auth_http" in texts["Next"]
    assert texts["Affects"].startswith("logins in mail")
    assert "proxy_bind with" not in texts["Next"]
    assert finding.of_requests is None
    (finding,) = found([*written(f"{no_port}to upstream, {mail}"), *written(f"{no_port}to upstream, ")]).problems
    assert ["auth_http" in line.text for line in answer(finding) if line.label == "Next"] == [False, True]


def test_the_headline_about_a_cache_file_does_not_refer_to_clients() -> None:
    """Messages about cache files name no clients."""
    findings = found(written('[crit] 7#7: cache file "/a" has md5 collision'))
    assert headline(diagnose(evidence([CLOSED])), findings).endswith("depends on how often it happens, and when")


def test_why_contains_only_the_error_and_signal_numbers_that_were_logged() -> None:
    denied = '[emerg] 7#7: open() "/a/b.log" failed (13: Permission denied)'
    (finding,) = found(written(denied)).problems
    assert finding.row.why.startswith("nginx -t or nginx was run without sudo")
    assert "does not exist" not in finding.row.why
    crashed = [f"[alert] 1#1: worker process 7 exited on signal {number}" for number in (6, 8)]
    (finding,) = found(written(*crashed)).problems
    assert "6: " in finding.row.why
    assert "8: " in finding.row.why
    assert "7: " not in finding.row.why


def test_messages_about_subrequests_have_no_status() -> None:
    """A failed subrequest of mirror, for example, affects no client."""
    inner = [line.replace(', upstream: "', ', subrequest: "/m", upstream: "') for line in written(REFUSED, REFUSED)]
    (finding,) = found(inner, requests(50, 5)).problems
    texts = {line.label: line.text for line in answer(finding)}
    assert texts["Affects"].startswith("nginx's own subrequests: nobody if mirror")
    assert finding.answered is None
    (finding,) = found([*inner, *written(REFUSED)], requests(50, 5)).problems
    assert "else 502" in {line.label: line.text for line in answer(finding)}["Affects"]


def test_a_failed_start_in_both_log_and_journal_counts_once() -> None:
    """When it starts, nginx both logs and prints such messages. One of the six is only in the log."""
    words = "bind() to 0.0.0.0:{} failed (98: Address already in use)"
    log = written(*[f"[emerg] 7#7: {words.format(80)}"] * 5, "[emerg] 7#7: still could not bind()")
    log += written(f"[emerg] 7#7: {words.format(81)}")
    journal = [f"nginx: [emerg] {words.format(80)}"] * 5 + ["nginx: [emerg] still could not bind()"]
    both = EvidenceSet(
        error_logs=tuple(
            Named(name=name, content=error_log.parse(lines))
            for name, lines in (("error.log", log), ("journal", journal))
        )
    )
    together = message_findings(both)
    assert [(each.row.id, each.number) for each in together.problems] == [("address_in_use", 6)]
    assert found([*journal, *log]).problems[0].number == 6
    assert found([*log, *journal]).problems[0].number == 6


def test_a_successful_test_of_the_configuration_is_ordinary() -> None:
    read = "nginx: the configuration file /etc/nginx/nginx.conf syntax is ok"
    findings = found([read, "nginx: configuration file /etc/nginx/nginx.conf test is successful"])
    assert {each.row.id for each in findings.ordinary} == {"configuration_ok", "configuration_syntax_ok"}
    assert headline(diagnose(evidence([CLOSED])), findings).startswith("No problem in these messages")


def test_a_configuration_with_correct_syntax_may_still_fail() -> None:
    """After checking the syntax, nginx opens logs, creates zones and opens ports."""
    findings = found(
        [
            "nginx: the configuration file /etc/nginx/nginx.conf syntax is ok",
            '2026/11/26 09:00:01 [emerg] 7#7: zero size shared memory zone "one"',
            "nginx: configuration file /etc/nginx/nginx.conf test failed",
        ]
    )
    assert [each.row.id for each in findings.problems] == ["zone_undefined"]
    assert [each.row.id for each in findings.ordinary] == ["configuration_syntax_ok"]


def test_a_consequence_is_reported_with_its_own_status() -> None:
    failed = "[error] 7#7: *1 auth request unexpected status: 502 while sending to client, "
    (finding,) = found(written(REFUSED, failed)).problems
    texts = {line.label: line.text for line in answer(finding)}
    assert texts["Follows"].endswith("1 message, answered 500.")


UDP = 'udp client: 10.0.0.9, server: 0.0.0.0:53, upstream: "{}", bytes from/to client:40/0'


def test_an_unreachable_dns_server_is_only_a_possible_problem_while_names_are_resolved() -> None:
    """Another server in resolver may have answered."""
    refused = "[error] 7#7: recv() failed (111: Connection refused) while resolving, resolver: 10.0.0.2:53"
    messages = found(written(*[refused] * 30))
    assert (messages.problems, [each.row.id for each in messages.looks]) == ((), ["resolver_unreachable"])


DENIED = "[crit] 7#7: *1 connect() to 10.0.0.5:80 failed (13: Permission denied) while connecting to upstream, "
TOO_FEW = "7#7: 1024 worker_connections are not enough"
UDP_TIMEOUT = "[error] 7#7: *1 upstream timed out (110: Connection timed out) while proxying connection, "
UNRESOLVED = (
    "[error] 7#7: recv() failed (111: Connection refused) while resolving, resolver: 127.0.0.11:53",
    "[error] 7#7: *1 app.test could not be resolved (110: Operation timed out), ",
)
NOT_STARTED = ["nginx.service: start operation timed out. Terminating.", "Failed to start nginx.service."]


@pytest.mark.parametrize(
    ("cause", "consequence", "lines"),
    [
        ("upstream_denied", "no_live_upstreams", written(DENIED, NONE_LEFT)),
        (
            "worker_connections",
            "worker_connections_reused",
            written(f"[alert] {TOO_FEW}", f"[warn] {TOO_FEW}, reusing connections"),
        ),
        (
            "stream_udp_timeout",
            "no_live_upstreams",
            written(f"{UDP_TIMEOUT}{UDP.format('10.0.0.5:53')}", f"{NONE_LEFT}{UDP.format('dns')}"),
        ),
        ("resolver_unreachable", "upstream_not_resolved_timeout", written(*UNRESOLVED)),
        ("service_start_timeout", "service_failed", NOT_STARTED),
    ],
)
def test_a_consequence_is_listed_under_its_cause(cause: str, consequence: str, lines: list[str]) -> None:
    (finding,) = found(lines).problems
    assert (finding.row.id, [each.row.id for each in finding.consequences]) == (cause, [consequence])


def test_the_kernels_lines_about_one_killed_process_count_once() -> None:
    """An excerpt may contain only one of the kernel's three lines."""
    killed = [
        "[7.1] nginx invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984",
        "[7.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=nginx,pid=812,uid=101",
        "[7.1] Memory cgroup out of memory: Killed process 812 (nginx) total-vm:180000kB, anon-rss:90000kB",
    ]
    (finding,) = found(killed * 2).problems
    assert (finding.row.id, finding.number) == ("oom_cgroup", 2)
    (finding,) = found(killed[1:2] * 2).problems
    assert (finding.row.id, finding.number) == ("oom_cgroup", 2)


@pytest.mark.parametrize(("words", "other"), [("server: shop", "server: blog"), ("/a/1 ", "/b "), (":02 ", ":00 ")])
def test_a_message_that_is_earlier_or_about_something_else_is_not_a_consequence(words: str, other: str) -> None:
    """The message concerns another server block or another URI, or precedes the failure."""
    refused, none_left = (line.replace("/a/0 ", "/a/1 ") for line in written(REFUSED, NONE_LEFT))
    (finding,) = found([refused, none_left]).problems
    assert len(finding.consequences) == 1
    assert [each.consequences for each in found([refused, none_left.replace(words, other)]).problems] == [(), ()]


def test_disabling_a_server_is_a_consequence_of_its_failure() -> None:
    """Both messages name the server's address, so the failure of another server is not the cause."""
    disabled = "[warn] 7#7: *1 upstream server temporarily disabled while connecting to upstream, "
    lines = [line.replace("/a/1 ", "/a/0 ") for line in written(REFUSED, disabled)]
    assert found(lines).looks == ()
    assert [each.row.id for each in found([lines[0], lines[1].replace(".5:80/", ".6:80/")]).looks] == [
        "upstream_disabled"
    ]
