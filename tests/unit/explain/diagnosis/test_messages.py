"""Messages together: their consequences, the one that explains the most, and the number of affected requests."""

import pytest

from tests.support.canned_evidence import grown, seen
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.diagnosis.messages import ENOUGH_MESSAGES, Messages, message_findings
from tuneproof.explain.diagnosis.render import headline, rows
from tuneproof.explain.diagnosis.render_messages import answer, details, to_json
from tuneproof.explain.parse import error_log
from tuneproof.explain.parse.access_log.known import COMBINED
from tuneproof.explain.parse.access_log.log_summary import LogSummary, summarise
from tuneproof.explain.parse.access_log.records import records

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
    return message_findings(evidence(lines, requests))


def evidence(lines: list[str], requests: LogSummary | None = None) -> EvidenceSet:
    return EvidenceSet(
        error_logs=(Named(name="error.log", content=error_log.parse(lines)),),
        access_logs=(Named(name="access.log", content=requests),) if requests is not None else (),
    )


def requests(number: int, failed: int, status: int = 502, hour: int = 9) -> LogSummary:
    """Return an access log of one hour."""
    made = (
        f'10.0.0.9 - - [26/Nov/2026:{hour:02}:{second * 59 // number:02}:00 +0100] "GET /a HTTP/1.1" '
        f'{status if second < failed else 200} 5 "-" "-"'
        for second in range(number)
    )
    return summarise(records(made, COMBINED), format_name="combined")


def test_a_message_is_reported_with_its_times_count_and_clients() -> None:
    (finding,) = found([*written(*[REFUSED] * 3), *written(*[REFUSED] * 2, second=100, client=8)]).problems
    assert (finding.row.id, finding.number) == ("upstream_refused", 5)
    assert (finding.first, finding.last) == ("2026/11/26 09:00:01", "2026/11/26 09:01:41")
    assert finding.upstreams == {"10.0.0.5:80": 5}
    assert finding.clients == {"10.0.0.9": 3, "10.0.0.8": 2}
    assert finding.requests == {"GET /a/*": 5}
    assert finding.servers == {"shop": 5}


def test_a_consequence_is_not_the_headline() -> None:
    """The number of its messages does not matter, unless its cause is missing."""
    (finding,) = found(written(REFUSED, *[NONE_LEFT] * 9)).problems
    assert finding.row.id == "upstream_refused"
    assert [(each.row.id, each.number) for each in finding.consequences] == [("no_live_upstreams", 9)]
    assert [each.row.id for each in found(written(NONE_LEFT)).problems] == ["no_live_upstreams"]


def test_the_message_that_affects_the_most_requests_comes_first() -> None:
    """A killed worker affects more than one request."""
    told = found(written(*[REFUSED] * 3, *[BIG] * 5, KILLED))
    assert [each.row.id for each in told.problems] == ["worker_killed_9", "upstream_too_big_header", "upstream_refused"]


def test_nginxs_own_message_comes_before_as_many_from_other_programs() -> None:
    """The ingress controller's message has no time that could decide, and does not count requests."""
    controller = 'W1126 09:00:00.123456 7 a.go:1] Error obtaining Endpoints for Service "shop/cart": no object'
    told = found([controller, *written(REFUSED)])
    assert [each.row.id for each in told.problems] == ["upstream_refused", "ingress_service_missing"]
    told = found([*[controller] * 2, *written(REFUSED)])
    assert [each.row.id for each in told.problems] == ["ingress_service_missing", "upstream_refused"]


def test_ordinary_messages_take_one_line_with_their_share() -> None:
    told = found(written(REFUSED, *[CLOSED] * 3, MISSING))
    assert [each.row.id for each in told.ordinary] == ["client_closed_keepalive"]
    assert [each.row.id for each in told.looks] == ["file_missing"]
    texts = {row.label: row.text for row in rows(diagnose(seen()), told)}
    assert texts["Ordinary"] == "3 of 5 messages (60 %) are harmless: clients close idle connections (3)."
    assert texts["Maybe"].startswith("A file does not exist: 1 message, at 2026/11/26 09:00:05. Next: Compare the path")


def test_a_message_that_may_be_a_problem_is_not_a_finding() -> None:
    given = evidence(written(*[MISSING] * 30))
    said = headline(diagnose(given), message_findings(given))
    assert (
        said == "LOGGED: A file does not exist; whether that is a problem depends on how many there are, and from whom"
    )


def test_an_access_log_of_the_same_time_shows_how_many_requests_are_affected() -> None:
    """An access log from another hour does not."""
    lines = written(*[BIG] * 40, second=600)
    (finding,) = found(lines, requests(200, 50)).problems
    assert (finding.of_requests, finding.answered, finding.is_rare) == (200, 50, False)
    (of_three,) = found(written(BIG, second=600), requests(3, 1)).problems
    assert not of_three.is_rare, "somebody may have selected these three lines"
    (elsewhere,) = found(lines, requests(200, 50, hour=12)).problems
    assert (elsewhere.of_requests, elsewhere.answered) == (None, None)


def test_one_message_in_thousands_of_requests_explains_nothing() -> None:
    """The message is reported, but not in the headline."""
    given = evidence(written(BIG, second=600), requests(3000, 1))
    told = message_findings(given)
    assert told.leading is None
    assert not headline(diagnose(given), told).startswith("FOUND")
    assert any(row.label == "Rare" and "response header" in row.text for row in rows(diagnose(given), told))


def test_a_502_with_its_reason_in_the_log_is_not_a_refusal() -> None:
    """A finding that the backend refuses would be false."""
    given = evidence(written(*[BIG] * 50, second=600), requests(200, 50))
    told = message_findings(given)
    assert headline(diagnose(given), told) == f"FOUND: {told.problems[0].row.name}"
    assert not any("refused" in row.text for row in rows(diagnose(given), told) if row.label in {"Open", "Also"})


def test_a_message_with_consequences_explains_them_too() -> None:
    """Of two causes with as many messages, the one that others follow from comes first."""
    denied = 'audit: type=1400 audit(1.1:9): apparmor="DENIED" operation="open" name="/srv/a" comm="nginx"'
    killed = "Out of memory: Killed process 7 (nginx) total-vm:9kB"
    told = found([*(f"Nov 26 09:00:00 a kernel: {text}" for text in (denied, killed)), *written(KILLED)])
    assert [each.row.id for each in told.problems] == ["oom_host", "apparmor_denied"]


def test_idle_connections_closed_for_want_of_others_are_a_consequence() -> None:
    words = "1024 worker_connections are not enough"
    (finding,) = found(written(f"[alert] 7#7: {words}", f"[warn] 7#7: {words}, reusing connections")).problems
    assert (finding.row.id, finding.consequences[0].row.id) == ("worker_connections", "worker_connections_reused")


def test_another_cause_comes_before_messages_that_are_only_logged() -> None:
    """The messages are listed below the cause."""
    given = seen(grown(ListenOverflows=90, ListenDrops=90))
    told = found(written(*[BIG] * 5))
    assert headline(diagnose(given), told) == "FOUND: The accept queue overflows"
    assert any(row.label == "Also" and "response header" in row.text for row in rows(diagnose(given), told))


@pytest.mark.parametrize(("number", "causes"), [(ENOUGH_MESSAGES - 1, ()), (ENOUGH_MESSAGES, True)])
def test_a_cause_without_its_message_is_reported_as_not_logged(number: int, causes: object) -> None:
    """A file with only a few lines is not judged: somebody may have selected lines without the message."""
    absent = found(written(*[BIG] * number)).not_logged()
    assert absent == causes or (causes is True and Cause.REFUSED in absent and Cause.NO_PORT in absent)
    assert Cause.REFUSED not in found(written(*[REFUSED] * number)).not_logged()


def test_messages_without_a_row_are_shown() -> None:
    told = found(written("[error] 7#7: *1 a riddle", "[info] 7#7: *1 a riddle"))
    assert (told.unknown, told.unknown_examples) == (1, ("a riddle",))
    assert any(row.label == "Unknown" and "a riddle" in row.text for row in rows(diagnose(seen()), told))


def test_details_and_json_contain_every_message() -> None:
    told = found(written(REFUSED, NONE_LEFT, MISSING, CLOSED))
    whole = "\n".join(details(told))
    assert all(f"({row})" in whole for row in ("upstream_refused", "file_missing", "client_closed_keepalive"))
    document = to_json(told)
    assert [each["id"] for each in document["found"]] == ["upstream_refused", "file_missing", "client_closed_keepalive"]
    assert document["found"][0]["consequences"][0]["id"] == "no_live_upstreams"


def test_names_with_few_requests_are_counted_and_not_listed() -> None:
    """If the maximum number of names is kept, there may be more."""
    lines = [written(REFUSED, client=number)[0] for number in range(200)]
    (finding,) = found(lines).problems
    text = "".join(line.text for line in answer(finding))
    assert "200 clients." in text
    (line,) = written(REFUSED)
    many = [line.replace("10.0.0.9", f"10.0.{number // 200}.{number % 200}") for number in range(400)]
    assert "256 or more clients." in "".join(line.text for line in answer(found(many).problems[0]))


STREAM = 'client: 10.0.0.9, server: 0.0.0.0:3306, upstream: "10.0.0.5:3306", bytes from/to client:0/0'


def test_stream_connections_get_no_status() -> None:
    """They are reported without a 502, and without a share of the requests in an access log."""
    streams = written(*[REFUSED.rstrip(", ") + f", {STREAM}"] * 2)
    (finding,) = found(streams, requests(50, 5)).problems
    told = {line.label: line.text for line in answer(finding)}
    assert "502" not in told["Affects"]
    assert (finding.of_requests, finding.answered) == (None, None)
    (finding,) = found([*streams, *written(REFUSED)], requests(50, 5)).problems
    told = {line.label: line.text for line in answer(finding)}
    assert "else 502; 2 messages about connections in stream" in told["Affects"]
    assert finding.of_requests == 50


def test_stream_connections_do_not_get_a_status_from_later_messages_either() -> None:
    timed_out = f"[error] 7#7: *1 upstream timed out (110: Connection timed out) while connecting to upstream, {STREAM}"
    none_left = f"{NONE_LEFT}{STREAM}"
    (finding,) = found(written(timed_out, none_left)).problems
    (follows,) = (line.text for line in answer(finding) if line.label == "Follows")
    assert follows == "No upstream server is considered alive: 1 message."


def test_the_advice_for_connections_in_stream_applies_to_stream() -> None:
    """The advice omits keepalive and http_500, unless requests are affected, too."""
    no_port = (
        "[crit] 7#7: *1 connect() to 10.0.0.5:80 failed (99: Cannot assign requested address) while connecting to "
    )
    streams = written(f"{no_port}upstream, {STREAM}")
    (finding,) = found(streams).problems
    assert "proxy_bind" in finding.row.first
    assert "keepalive" not in finding.row.first
    (finding,) = found([*streams, *written(f"{no_port}upstream, ")]).problems
    told = [line.text for line in answer(finding) if line.label == "Next"]
    assert ["keepalive" in text for text in told] == [True, False]
    (finding,) = found(written(f"[error] 7#7: *1 access forbidden by rule, {STREAM}")).looks
    assert "403" not in " ".join(line.text for line in answer(finding))


@pytest.mark.parametrize("starttls", ["", " using starttls"])
def test_the_advice_for_connections_in_mail_applies_to_mail(starttls: str) -> None:
    """In mail{}, there is no upstream block, no further server and no proxy_bind: auth_http names the server."""
    mail = f'client: 10.0.0.9{starttls}, server: 0.0.0.0:143, login: "a", upstream: 10.0.0.5:143'
    no_port = "[crit] 7#7: *1 connect() to 10.0.0.5:143 failed (99: Cannot assign requested address) while connecting "
    (finding,) = found(written(f"{no_port}to upstream, {mail}"), requests(50, 5)).problems
    told = {line.label: line.text for line in answer(finding)}
    assert "auth_http" in told["Next"]
    assert told["Affects"].startswith("logins in mail")
    assert "proxy_bind with" not in told["Next"]
    assert finding.of_requests is None
    (finding,) = found([*written(f"{no_port}to upstream, {mail}"), *written(f"{no_port}to upstream, ")]).problems
    assert ["auth_http" in line.text for line in answer(finding) if line.label == "Next"] == [False, True]


def test_a_headline_about_a_cache_file_does_not_mention_clients() -> None:
    """Only the number and the times of such messages show whether there is a problem."""
    told = found(written('[crit] 7#7: cache file "/a" has md5 collision'))
    assert headline(diagnose(evidence([CLOSED])), told).endswith("depends on how often it happens, and when")


def test_the_cause_is_that_of_the_error_number_in_the_messages() -> None:
    """Of all the reasons in a row, only the logged ones are reported."""
    denied = '[emerg] 7#7: open() "/a/b.log" failed (13: Permission denied)'
    (finding,) = found(written(denied)).problems
    assert finding.row.why.startswith("nginx -t or nginx was run without sudo")
    assert "does not exist" not in finding.row.why
    crashed = [f"[alert] 1#1: worker process 7 exited on signal {number}" for number in (6, 8)]
    (finding,) = found(written(*crashed)).problems
    assert "6: " in finding.row.why
    assert "8: " in finding.row.why
    assert "7: " not in finding.row.why


def test_a_subrequest_has_no_status_of_its_own() -> None:
    """The failure of a mirrored request does not affect any client."""
    inner = [line.replace(', upstream: "', ', subrequest: "/m", upstream: "') for line in written(REFUSED, REFUSED)]
    (finding,) = found(inner, requests(50, 5)).problems
    told = {line.label: line.text for line in answer(finding)}
    assert told["Affects"].startswith("nginx's own subrequests: nobody if mirror")
    assert finding.answered is None
    (finding,) = found([*inner, *written(REFUSED)], requests(50, 5)).problems
    assert "else 502" in {line.label: line.text for line in answer(finding)}["Affects"]


def test_a_failed_start_counts_once_in_log_and_journal_together() -> None:
    """The failure is written to both; another failure of the same kind is only in the log."""
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


def test_a_configuration_that_loads_is_not_a_problem() -> None:
    read = "nginx: the configuration file /etc/nginx/nginx.conf syntax is ok"
    told = found([read, "nginx: configuration file /etc/nginx/nginx.conf test is successful"])
    assert {each.row.id for each in told.ordinary} == {"configuration_ok", "configuration_syntax_ok"}
    assert headline(diagnose(evidence([CLOSED])), told).startswith("No problem in these messages")


def test_a_configuration_that_nginx_can_read_may_still_fail() -> None:
    """After checking the syntax, nginx opens zones, logs and ports."""
    told = found(
        [
            "nginx: the configuration file /etc/nginx/nginx.conf syntax is ok",
            '2026/11/26 09:00:01 [emerg] 7#7: zero size shared memory zone "one"',
            "nginx: configuration file /etc/nginx/nginx.conf test failed",
        ]
    )
    assert [each.row.id for each in told.problems] == ["zone_undefined"]
    assert [each.row.id for each in told.ordinary] == ["configuration_syntax_ok"]


def test_a_consequence_is_reported_with_its_own_status() -> None:
    failed = "[error] 7#7: *1 auth request unexpected status: 502 while sending to client, "
    (finding,) = found(written(REFUSED, failed)).problems
    told = {line.label: line.text for line in answer(finding)}
    assert told["Follows"].endswith("1 message, answered 500.")


def test_servers_that_nginx_is_denied_access_to_leave_no_live_upstream() -> None:
    denied = "[crit] 7#7: *1 connect() to 10.0.0.5:80 failed (13: Permission denied) while connecting to upstream, "
    (finding,) = found(written(denied, *[NONE_LEFT] * 9)).problems
    assert (finding.row.id, [each.row.id for each in finding.consequences]) == (
        "upstream_denied",
        ["no_live_upstreams"],
    )


UDP = 'udp client: 10.0.0.9, server: 0.0.0.0:53, upstream: "{}", bytes from/to client:40/0'


@pytest.mark.parametrize(
    ("cause", "lines"),
    [
        (
            "stream_udp_timeout",
            written(
                f"[error] 7#7: *1 upstream timed out (110: Connection timed out) while proxying connection, "
                f"{UDP.format('10.0.0.5:53')}",
                f"{NONE_LEFT}{UDP.format('dns')}",
            ),
        ),
        (
            "resolver_unreachable",
            written(
                "[error] 7#7: recv() failed (111: Connection refused) while resolving, resolver: 127.0.0.11:53",
                "[error] 7#7: *1 app.test could not be resolved (110: Operation timed out), ",
            ),
        ),
        (
            "service_start_timeout",
            ["nginx.service: start operation timed out. Terminating.", "Failed to start nginx.service."],
        ),
    ],
)
def test_a_consequence_is_listed_under_its_cause(cause: str, lines: list[str]) -> None:
    (finding,) = found(lines).problems
    assert (finding.row.id, len(finding.consequences)) == (cause, 1)


def test_lines_of_one_event_count_once() -> None:
    """The kernel writes three lines for each process that it kills, and systemd writes three for each failed start."""
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
def test_messages_that_are_earlier_or_about_something_else_do_not_follow(words: str, other: str) -> None:
    """Such messages concern another server block or another location's upstream, or precede the failure."""
    refused, none_left = (line.replace("/a/0 ", "/a/1 ") for line in written(REFUSED, NONE_LEFT))
    (finding,) = found([refused, none_left]).problems
    assert len(finding.consequences) == 1
    assert [each.consequences for each in found([refused, none_left.replace(words, other)]).problems] == [(), ()]


def test_disabling_the_server_that_failed_is_a_consequence() -> None:
    """The message names the server's address, not the upstream block."""
    disabled = "[warn] 7#7: *1 upstream server temporarily disabled while connecting to upstream, "
    lines = [line.replace("/a/1 ", "/a/0 ") for line in written(REFUSED, disabled)]
    assert found(lines).looks == ()
    assert [each.row.id for each in found([lines[0], lines[1].replace(".5:80/", ".6:80/")]).looks] == [
        "upstream_disabled"
    ]
