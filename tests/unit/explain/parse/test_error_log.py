"""Messages in error logs are recognised and counted, even in imperfect excerpts."""

import tracemalloc
from collections import Counter
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from tests.support.canned_error_logs import AT, BEHIND, CONTAINER, LOG, WORDS
from tests.support.tables import table
from tuneproof.explain.parse import joined_messages
from tuneproof.explain.parse.error_log import Collector, Event, figures, parse
from tuneproof.explain.parse.figures import MOST_FIGURES
from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.messages.patterns import find_cut_of_all


@pytest.mark.parametrize(
    ("words", "event"),
    [
        *((words, event) for event, (_, words) in WORDS.items()),
        ("connect() failed (61: Connection refused) while connecting to upstream", Event.REFUSED),
        ("recv() failed (104: Connection reset by peer) while reading response header from upstream", Event.HUNG_UP),
        ("upstream timed out (60: Operation timed out) while connecting to upstream", Event.CONNECT_TIMED_OUT),
        ("upstream timed out (110: Connection timed out) while SSL handshaking to upstream", Event.ANSWER_TIMED_OUT),
        ("client prematurely closed connection while sending request to upstream", Event.CLIENT_LEFT),
        ('limiting connections by zone "all"', Event.LIMITED),
        ('open() "/srv/x" failed (2: No such file or directory)', None),
        ("recv() failed (104: Connection reset by peer) while waiting for request", None),
        ('FastCGI sent in stderr: "PHP message: Connection refused"', None),
    ],
)
def test_variants_of_a_message_are_recognised(words: str, event: Event | None) -> None:
    """The words depend on the system and the situation; other messages are not events."""
    log = parse([f"{AT.format(0, 'error', 7)}{words}{BEHIND}"])
    # A connection that the upstream closed instead of answering counts as two events.
    expected = {Event.HUNG_UP, Event.UNANSWERED} if event is Event.HUNG_UP else {event} - {None}
    assert log.events == dict.fromkeys(expected, 1)


def test_a_log_is_summarised() -> None:
    log = parse(LOG.split("\n"))
    assert log.messages == len(WORDS)
    assert log.events == dict.fromkeys(Event, 1)
    assert log.levels == Counter(level for level, _ in WORDS.values())
    assert (log.first, log.last) == (
        datetime(2026, 11, 22, 14, 50, 0, tzinfo=UTC),
        datetime(2026, 11, 22, 14, 50, 9, tzinfo=UTC),
    )
    assert log.upstream_of(Event.REFUSED) == "10.0.0.5:8080"
    assert log.upstream_of(Event.LIMITED) == "upstreams"
    shown = {figure.key: figure.value for figure in figures(log)}
    assert (shown["messages"], shown["refused"], shown["duration_s"]) == (len(WORDS), 1, 9.0)


@pytest.mark.parametrize(
    ("upstreams", "named"),
    [
        (("fastcgi://unix:/run/php.sock:",), "unix:/run/php.sock"),
        (("http://[::1]:80/",), "[::1]:80"),
        (("http://a:1/", "http://b:1/"), "upstreams"),
        ((), "upstreams"),
    ],
)
def test_one_upstream_is_named_and_several_are_not(upstreams: tuple[str, ...], named: str) -> None:
    upstream_parts = [f', upstream: "{upstream}"' for upstream in upstreams] or [""]
    words = f"{AT.format(0, 'error', 7)}upstream timed out (110: x) while reading upstream"
    log = parse([f"{words}{each}" for each in upstream_parts])
    assert log.upstream_of(Event.ANSWER_TIMED_OUT) == named


def test_lines_between_messages_are_not_messages() -> None:
    collector = Collector()
    added = [collector.add(line) for line in CONTAINER.split("\n")[:-1]]
    assert added == [True, False] * len(WORDS)
    others = ["", "PHP message: #1 x", "2026/02/30 10:00:00 [error] 1#1: x", '1.2.3.4 - - [22/Nov/2026] "GET /#" 200']
    assert not any(Collector().add(line) for line in others)
    log = collector.log()
    assert log is not None
    assert log.messages == len(WORDS)
    assert Collector().log() is None
    with pytest.raises(MalformedEvidenceError, match="found none"):
        parse(["hello"])


def test_the_number_of_upstream_names_is_limited() -> None:
    """Names may come from requests, through a variable in proxy_pass."""
    words = 'no live upstreams while connecting to upstream, upstream: "http://h{}/"'
    log = parse(f"{AT.format(0, 'error', 7)}{words.format(number)}" for number in range(999))
    assert log.of(Event.NONE_LEFT) == 999
    assert len(log.upstreams[Event.NONE_LEFT]) == 256


def test_the_memory_for_a_long_log_is_limited() -> None:
    words = (
        'open() "/srv/{0}" failed (2: No such file or directory), client: 10.0.{1}.{2}, server: s, request: "GET /{0}x'
    )
    lines = (
        f"{AT.format(0, 'error', 7)}{words.format(number, number % 256, number // 256)}" for number in range(20_001)
    )
    parse([next(lines)])  # the patterns of messages load once in a process
    tracemalloc.start()
    log = parse(lines)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.messages == 20_000
    assert peak_bytes < 4 << 20


FORBIDDEN = "2026/11/26 09:00:01 [error] 7#7: *1 access forbidden by rule, client: 10.0.0.9, server: shop"


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([f"Nov 26 09:00:01 a nginx: {FORBIDDEN}", "Nov 26 09:00:31 a nginx: last message repeated 4 times"], 5),
        ([f"Nov 26 09:00:31 a nginx: message repeated 3 times: [ {FORBIDDEN}]"], 3),
        ([FORBIDDEN, "something else", "Nov 26 09:00:31 a nginx: last message repeated 4 times"], 1),
        (["Nov 26 09:00:31 a nginx: last message repeated 4 times", FORBIDDEN], 1),
    ],
)
def test_messages_that_syslog_reports_as_repeated_count_each_time(lines: list[str], number: int) -> None:
    (count,) = parse(lines).known
    assert (count.number, count.clients, count.servers) == (number, {"10.0.0.9": number}, {"shop": number})


BIG = (
    "upstream sent too big header while reading response header from upstream, client: 10.0.0.9, server: a, request: "
    '"GET /a HTTP/1.1", upstream: "http://10.0.0.5:80/a", host: "a"'
)


def wrapped(*breaks: tuple[str, str]) -> list[str]:
    """Return the lines of a message in which each first text is replaced by the second, which contains line breaks."""
    text = f"2026/11/26 09:00:01 [error] 7#7: *12 {BIG}"
    for whole, broken in breaks:
        text = text.replace(whole, broken)
    return text.split("\n")


IMPERFECT = {
    "hidden numbers": [f"2026/11/26 09:00:01 [error] xxxx#xxxx: *xx {BIG}"],
    "no asterisk": [f"2026/11/26 09:00:01 [error] 7#7: 12 {BIG}"],
    "no process": [f"2026/11/26 09:00:01 [error] {BIG}"],
    "no brackets": [f"error: *12 {BIG}"],
    "three dots": [f'"...[error] 7#7: *12 {BIG}"'],
    "an ellipsis": [f"\u2026 [error] 7#7: *12 {BIG}"],
    "wrapped by a terminal": [f"2026/11/26 09:00:01 [error] 7#7: *12 {BIG[:21]}", BIG[21:90], BIG[90:]],
    "wrapped within its words": [f"2026/11/26 09:00:01 [error] 7#7: *12 {BIG[:42]}", BIG[43:]],
    "wrapped twice": [f"> 2026/11/26 09:00:01 [error] 7#7: *12 {BIG[:17]}", f"> {BIG[18:42]}", f"> {BIG[43:]}"],
    "wrapped within its context": f"2026/11/26 09:00:01 [error] 7#7: *12 {BIG}".replace(", r", ",\n  r")
    .replace(" HTTP", "\nHTTP")
    .split("\n"),
    "wrapped before its words": ["2026/11/26 09:00:01 [error] 7#7: *12", BIG[:10], BIG[10:42], BIG[42:]],
    "a name in the context in two lines": wrapped(
        ("response header", "response \nheader"), ('upstream: "', 'upstrea\nm: "')
    ),
    "an address in two lines": wrapped(("response header", "response \nheader"), ("10.0.0.5", "10.0.\n0.5")),
    "a quoted line wrapped by a terminal": wrapped(("upstream sent", "upstr\n> eam sent"), ("client", "cli\n> ent")),
    "capitals": [f"2026/11/26 09:00:01 [ERROR] 7#7: *12 {BIG}"],
    "a prefix and a capital": [f"web1 nginx: 2026/11/26 09:00:01 [Error] 7#7: *12 {BIG}"],
    "capitals without brackets": [f"2026/11/26 09:00:01 ERROR {BIG}"],
}


@pytest.mark.parametrize("lines", IMPERFECT.values(), ids=IMPERFECT)
def test_a_line_may_be_pasted_imperfectly(lines: list[str]) -> None:
    log = parse([*lines, "something else"])
    (count,) = log.known
    assert (count.row, count.number, count.clients) == ("upstream_too_big_header", 1, {"10.0.0.9": 1})
    assert (count.requests, count.upstreams) == ({"GET /a": 1}, {"10.0.0.5:80": 1})
    assert log.unknown.number == 0


@pytest.mark.parametrize("quote", ["", "> "])
def test_a_mail_wraps_a_message_at_blanks(quote: str) -> None:
    """Terminals wrap anywhere, so lines are joined with and without a space; here, both match the same row."""
    full = (
        '2026/11/26 09:00:01 [crit] 7#7: *9 open()\n"/srv/1" failed (28: No space left on\ndevice), client:\n10.0.0.9, '
        'server: a,\nrequest: "GET /a HTTP/1.1"'
    )
    (count,) = parse(f"{quote}{line}" for line in full.split("\n")).known
    assert (count.row, count.clients, count.requests) == ("disk_full", {"10.0.0.9": 1}, {"GET /a": 1})


def test_lines_after_many_unknown_messages_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may have thousands of a module's own messages, with another program's lines between them."""
    searches = Mock(side_effect=find_cut_of_all)
    monkeypatch.setattr(joined_messages, "find_cut_of_all", searches)
    log = parse(text for _ in range(1_500) for text in (f"{AT.format(0, 'error', 7)}a riddle of a module", "hello"))
    assert (log.unknown.number, searches.call_count) == (1_500, 2 * 1_000)


def test_a_message_that_nginx_prints_after_a_wrapped_one_is_not_part_of_it() -> None:
    lines = ['nginx: [emerg] cannot load certificate "/a.pem":', "BIO_new_file() failed (SSL: error:80000002)"]
    log = parse([*lines, "nginx: configuration file /etc/nginx/nginx.conf test failed"])
    assert [count.row for count in log.known] == ["configuration_test_failed", "certificate_missing"]


def test_an_invalid_request_that_is_a_proxy_protocol_header_has_its_own_row() -> None:
    """Only the request distinguishes the message from those about other invalid requests."""
    words = "2026/11/26 09:00:01 [info] 7#7: *1 client sent invalid request while reading client request line, client: "
    lines = [f'{words}10.0.0.9, server: a, request: "{request}"' for request in ("GET a", "PROXY TCP4 1.2.3.4", "x")]
    assert {count.row: count.number for count in parse(lines).known} == {
        "client_request_invalid": 2,
        "proxy_protocol_unexpected": 1,
    }


def test_a_state_of_mail_shows_that_a_message_is_about_mail() -> None:
    """Before the login, the message has neither a login nor an upstream."""
    words = "2026/11/26 09:00:01 [info] 7#7: *1 client timed out (110: Connection timed out) while {}, client: 10.0.0.9"
    (count,) = parse(f"{words.format(state)}, server: 0.0.0.0:25" for state in ("in auth state", "proxying")).known
    assert (count.number, count.streams, count.mails) == (2, 2, 1)


def test_lines_after_an_unknown_message_do_not_belong_to_it() -> None:
    """Such lines may be requests or another program's output."""
    collector = Collector()
    lines = ["2026/11/26 09:00:01 [error] 7#7: *1 upstream sent", '{"status": 200}', "a riddle", "another", BIG[14:]]
    assert [collector.add(line) for line in lines] == [True, False, False, False, False]
    log = collector.log()
    assert log is not None
    assert log.unknown.examples == ("upstream sent",)


def test_another_programs_line_with_a_level_is_not_a_message() -> None:
    """Go's log package writes times in nginx's format."""
    line = "2026/11/26 09:00:01 [error] cannot reach the database, client: 10.0.0.9"
    assert Collector().add(line) is False


def test_a_number_of_worker_connections_is_not_the_number_of_a_connection() -> None:
    log = parse(["2026/11/26 09:00:01 [alert] 7#7: 768 worker_connections are not enough", "2026/11/26 was a Thursday"])
    assert [count.row for count in log.known] == ["worker_connections"]


def test_a_repeated_message_may_end_with_a_reason() -> None:
    """Other messages that end with a reason may continue on the next line; this one does not."""
    full = "2026/11/26 09:00:01 [crit] 7#7: accept4() failed (24: Too many open files)"
    (count,) = parse([f"Nov 26 09:00:31 a nginx: message repeated 3 times: [ {full}]"]).known
    assert (count.row, count.number) == ("files_accept", 3)


UNKNOWN = 'host not found in upstream "app" in /etc/nginx/conf.d/a.conf:3'


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([f"2026/11/26 09:00:01 [emerg] 1#1: {UNKNOWN}", f"nginx: [emerg] {UNKNOWN}"] * 2, 2),
        ([f"nginx: [emerg] {UNKNOWN}"] * 2, 2),
        ([f"2026/11/26 09:00:01 [emerg] 1#1: {UNKNOWN}", FORBIDDEN, f"nginx: [emerg] {UNKNOWN}"], 1),
        ([f"nginx: [emerg] {UNKNOWN}", FORBIDDEN, *[f"2026/11/26 09:00:01 [emerg] 1#1: {UNKNOWN}"] * 2], 2),
    ],
)
def test_a_start_message_in_both_outputs_counts_once(lines: list[str], number: int) -> None:
    """A container's standard error contains nginx's log and what nginx prints when it gives up."""
    counts = [count.number for count in parse(lines).known if count.row == "upstream_host_not_found_at_start"]
    assert sum(counts) == number


def test_a_message_of_several_lines_has_its_context_on_the_last_line() -> None:
    """PHP's and Lua's traces contain line breaks; in a container's output, other requests may be in between."""
    first = '2026/11/26 09:00:01 [error] 7#7: *1 FastCGI sent in stderr: "PHP message: PHP Fatal error:  Uncaught E'
    last = (
        '  thrown in /srv/a.php on line 2" while reading response header from upstream, client: 10.0.0.9, server: shop'
    )
    trace = ["#0 /srv/a.php(9): x()", '10.0.0.2 - - [26/Nov/2026] "GET /, client: 1, server: 2', "#1 {main}"]
    collector = Collector()
    added = [collector.add(line) for line in [first, *trace, f'{last}, request: "GET /a.php HTTP/1.1"', first]]
    assert added == [True, False, False, False, True, True]
    log = collector.log()
    assert log is not None
    (count,) = log.known
    assert (count.row, count.number, count.requests) == ("php_fatal", 2, {"GET /a.php": 1})


@pytest.mark.parametrize("prefix", ["PHP message: ", ""])
@pytest.mark.parametrize("trace", [[], ["Stack trace:", "#0 {main}"]])
def test_a_php_error_after_a_warning_is_the_message(prefix: str, trace: list[str]) -> None:
    """The error is in the last line or before a trace; the message counts once."""
    *lines, last = [f"{prefix}PHP Warning:  a in /a.php", f"{prefix}PHP Fatal error:  b in /a.php", *trace]
    first, *others = lines
    log = parse(
        [
            f'{AT.format(0, "error", 7)}FastCGI sent in stderr: "{first}',
            *others,
            f'{last}" while reading response header from upstream{BEHIND}',
        ]
    )
    assert [(count.row, count.number) for count in log.known] == [("php_fatal", 1)]
    assert log.messages == 1


def test_a_path_that_looks_like_context_is_not_taken_for_it() -> None:
    """The client chooses the path."""
    path = "/srv/a, client: 192.0.2.1, server: other"
    words = f'open() "{path}" failed (2: No such file or directory), client: 10.0.0.9, server: shop'
    (count,) = parse([f"2026/11/26 09:00:01 [error] 7#7: *1 {words}"]).known
    assert (count.clients, count.servers) == ({"10.0.0.9": 1}, {"shop": 1})


def test_a_message_about_a_tls_handshake_is_not_about_a_stream_connection() -> None:
    """Before there is a request, HTTP also logs the listening address."""
    words = 'no "ssl_certificate" is defined in server listening on SSL port while SSL handshaking'
    (count,) = parse([f"2026/11/26 09:00:01 [error] 7#7: *1 {words}, client: 10.0.0.9, server: 0.0.0.0:443"]).known
    assert count.streams == 0


def test_stream_connections_are_distinguished_from_requests() -> None:
    """An address in place of a server's name distinguishes them; mail writes its upstream without quotes."""
    refused = (
        "2026/11/26 09:00:01 [error] 7#7: *1 connect() failed (111: Connection refused) while connecting to upstream"
    )
    lines = [
        f'{refused}, client: 10.0.0.9, server: 0.0.0.0:3306, upstream: "10.0.0.5:3306", bytes from/to client:0/0',
        f'{refused}, udp client: 10.0.0.8, server: [::]:53, upstream: "10.0.0.5:53", bytes from/to client:0/0',
        f'{refused}, client: 10.0.0.9, server: 0.0.0.0:143, login: "a", upstream: 10.0.0.5:143',
        f'{refused}, client: 10.0.0.9, server: shop, request: "GET / HTTP/1.1", upstream: "http://10.0.0.5:80/"',
    ]
    (count,) = parse(lines).known
    assert (count.number, count.streams) == (4, 3)
    assert set(count.upstreams) == {"10.0.0.5:3306", "10.0.0.5:53", "10.0.0.5:143", "10.0.0.5:80"}
    assert set(count.clients) == {"10.0.0.9", "10.0.0.8"}


def test_the_figures_of_many_kinds_of_messages_are_limited_and_contain_every_level() -> None:
    log = parse(
        f"2026/11/22 14:50:01 [{level}] 7#7: {words}" for words, level, _ in table("messages") if "|" not in level
    )
    assert len(log.known) > MOST_FIGURES
    shown = figures(log)
    assert len(shown) == MOST_FIGURES
    assert {figure.of for figure in shown if figure.key == "messages_of_level"} == set(log.levels)
