"""A compiled log_format reads lines that nginx writes in it, and rejects others with the position of the fault."""

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuneproof.explain.parse.access_log.json_lines import JsonLines, PairLines
from tuneproof.explain.parse.access_log.known import COMBINED, KNOWN, UPSTREAMINFO
from tuneproof.explain.parse.access_log.log_format import (
    LONGEST_LINE,
    Escape,
    TextFormat,
    compile_format,
    one_text,
    parts_of,
)
from tuneproof.explain.parse.access_log.records import LineFormat, LogRecord
from tuneproof.explain.parse.problems import MalformedEvidenceError

LISTS = "$upstream_connect_time, $upstream_response_time, $pid"
CONNECTS = '"$upstream_connect_time" $status'
IN_BERLIN = datetime.fromisoformat("2023-05-31T10:27:49.125+02:00")
QUICK = settings(derandomize=True)
# Characters that nginx escapes, characters that formats use as literals, and similar ones.
CHARACTERS = st.sampled_from('abc "\\[]-,:{}$\x16\x7fé€0.1')
TEXTS = st.text(CHARACTERS, max_size=12)
TIMES = st.lists(st.one_of(st.none(), st.integers(0, 99_999).map(lambda number: number / 1000)), min_size=1, max_size=3)


def escaped(text: str, escape: Escape) -> str:
    """Write a value as nginx does: ngx_http_log_escape() and ngx_escape_json()."""
    if escape == "default":
        return "".join(
            f"\\x{byte:02X}" if byte < 32 or byte > 126 or byte in b'"\\' else chr(byte) for byte in text.encode()
        )
    return json.dumps(text, ensure_ascii=False)[1:-1] if escape == "json" else text


def shown_times(times: list[float | None]) -> str:
    return ", ".join("-" if item is None else f"{item:.3f}" for item in times)


def result_of(line_format: LineFormat, line: str) -> LogRecord | MalformedEvidenceError:
    try:
        return line_format.parse(line)
    except MalformedEvidenceError as error:
        return error


def by_names(line: str) -> LogRecord:
    """Read a line that names its own values."""
    return (JsonLines() if line.startswith(("{", "[")) else PairLines()).parse(line)


@pytest.mark.parametrize("escape", ["default", "json"])
@QUICK
@given(request=TEXTS, agent=TEXTS, status=st.integers(0, 999), body=st.integers(0, 10**19), times=TIMES)
def test_values_that_nginx_writes_are_read_unchanged(
    escape: Escape, request: str, agent: str, status: int, body: int, times: list[float | None]
) -> None:
    line_format = TextFormat(
        '$remote_addr "$request" $status ${body_bytes_sent}b uct="$upstream_connect_time" "$http_user_agent"',
        name="any",
        escape=escape,
    )
    line = f'::1 "{escaped(request, escape)}" {status:03} {body}b uct="{shown_times(times)}" "{escaped(agent, escape)}"'
    record = line_format.parse(line)
    assert (record.request, record.columns["http_user_agent"]) == (request, agent)
    assert (record.status, record.body_bytes, record.remote_addr) == (status, body, "::1")
    assert record.upstream_connect_time_s == tuple(times)


@QUICK
@given(user=st.text(st.sampled_from("ab- [0"), min_size=1, max_size=12), agent=TEXTS)
def test_a_value_without_quotes_ends_where_the_rest_fits(user: str, agent: str) -> None:
    """A user's name may contain a part of the literal after it; the name ends where a time follows."""
    line = f'10.0.0.1 - {user} [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" 200 12 "-" "{escaped(agent, "default")}"'
    record = COMBINED.parse(line)
    assert (record.columns["remote_user"], record.columns["http_user_agent"]) == (user, agent)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no variables", "no variables in 'no variables'"),
        ("", "no variables in ''"),
        ("$status $", r"column 9: log_format: not a variable's name .*: '\$'"),
        ("${status", "column 1: log_format: not a variable's name"),
        ("$-a", "column 1: log_format: not a variable's name"),
        ("escape=xml $status", "escape=xml is not one of default, json, none"),
        ("$a " * 501, "more than 1000 parts"),
    ],
)
def test_invalid_formats_are_rejected(text: str, message: str) -> None:
    with pytest.raises(MalformedEvidenceError, match=message):
        compile_format(text)


def test_a_format_may_define_its_escaping() -> None:
    """The text may begin with escape=, as in the directive, unless the argument is given."""
    assert compile_format('escape=json "$request"').escape == "json"
    assert compile_format('"$request"').escape == "default"
    assert compile_format('escape=json "$request"', escape="none").text.startswith("escape=json")


@pytest.mark.parametrize(
    ("text", "line", "name", "value"),
    [
        # A line feed at the end of a format does not belong to its lines.
        ("$status\n", "200", "status", 200),
        # Braces end a name.
        ("${pid}0 $status", "120 200", "worker_pid", 12),
        ("$request_method $request_uri $server_protocol $status", "GET /a HTTP/1.1 200", "request", "GET /a HTTP/1.1"),
        ("$status $status", "404 404", "status", 404),
        ("$status $msec", "404 1685521669.125", "time_s", 1_685_521_669.125),
        ("$status $msec", "404 1685521669.125", "time", datetime(2023, 5, 31, 8, 27, 49, 125_000, tzinfo=UTC)),
        # $msec has no time zone, so that of the other time is used.
        ("$time_iso8601 $msec", "2023-05-31T10:27:49+02:00 1685521669.125", "time", IN_BERLIN),
        # The times of several servers are kept apart.
        (CONNECTS, '"0.100, 0.200" 200', "upstream_connect_time_s", (0.1, 0.2)),
        (CONNECTS, '"-, 0.200 : -" 200', "upstream_connect_time_s", (None, 0.2, None)),
        (CONNECTS, '"0.100 : " 200', "upstream_connect_time_s", (0.1,)),
        (LISTS, "0.001, 0.002, 7", "upstream_connect_time_s", (0.001,)),
        (LISTS, "0.001, 0.002, 7", "upstream_response_time_s", (0.002,)),
        (LISTS, "-, -, 7", "upstream_response_time_s", (None,)),
    ],
)
def test_a_line_is_read_by_its_format(text: str, line: str, name: str, value: object) -> None:
    assert getattr(TextFormat(text, name="any").parse(line), name) == value


@pytest.mark.parametrize(("ratio", "fits"), [("2.31", True), ("-", True), ("2.3", False), ("2", False), ("x", False)])
def test_a_gzip_ratio_has_two_decimals(ratio: str, *, fits: bool) -> None:
    """Nginx always prints two, so other numbers are not a ratio."""
    found = result_of(TextFormat("$status $gzip_ratio", name="any"), f"200 {ratio}")
    assert isinstance(found, LogRecord) == fits


def test_a_variables_name_does_not_continue_in_the_next_string() -> None:
    assert one_text(["a$pid", "b ", "${status}"]) == "a${pid}b $status"
    assert [(part.text, part.variable) for part in parts_of("a${pid}b")] == [("a", False), ("pid", True), ("b", False)]


def test_adjacent_variables_are_read_as_one_column() -> None:
    """Nothing shows where the first one ends; the columns around them are still read."""
    line_format = TextFormat('$status "$host$request_uri" $pid', name="any")
    record = line_format.parse('200 "example.org/a b" 7')
    assert line_format.variables == ("status", "host+request_uri", "pid")
    assert (record.status, record.columns, record.worker_pid) == (200, {"host+request_uri": "example.org/a b"}, 7)


@pytest.mark.parametrize("escape", ["json", "none"])
def test_a_missing_value_may_be_empty(escape: Escape) -> None:
    line_format = TextFormat('$status [$upstream_addr] "$upstream_response_time" $pid', name="any", escape=escape)
    record = line_format.parse('200 [] "" 7')
    assert (record.status, record.upstream_addr, record.upstream_response_time_s, record.worker_pid) == (200, (), (), 7)
    assert line_format.parse('200 [::1] "0.001" 7').upstream_addr == ("::1",)


def test_with_escape_none_a_value_may_contain_quotes() -> None:
    """A quote does not end the value if the rest of the line would not fit."""
    record = TextFormat('"$request" $status "$http_user_agent"', name="any", escape="none").parse(
        r'"GET /"a" HTTP/1.1" 200 "a "b" \x22"'
    )
    assert (record.request, record.columns["http_user_agent"]) == ('GET /"a" HTTP/1.1', r'a "b" \x22')


def test_a_line_with_ambiguous_lists_is_rejected() -> None:
    """With two servers, nothing shows which times are connect times."""
    line_format = TextFormat(LISTS, name="any")
    with pytest.raises(MalformedEvidenceError, match="nothing shows where each column's list ends"):
        line_format.parse("0.001, 0.002, 0.003, 0.004, 7")


def test_ingress_nginx_is_read_with_its_retries() -> None:
    record = UPSTREAMINFO.parse(
        '10.1.0.9 - bob smith [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8 [x] 1" 88 0.014 '
        "[default-web-80] [] 10.0.0.1:80, [::1]:80 : 10.0.0.3:80 0, 12 : 3 0.001, 0.010 : 0.002 502, 200 : 200 4f5e"
    )
    assert record.upstream_addr == ("10.0.0.1:80", "[::1]:80", "10.0.0.3:80")
    assert (record.upstream_response_time_s, record.upstream_status) == ((0.001, 0.01, 0.002), (502, 200, 200))
    assert (record.columns["proxy_upstream_name"], record.columns["req_id"]) == ("default-web-80", "4f5e")


def test_known_formats_are_distinct() -> None:
    common = '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" 200 12'
    times = 'rt=0.100 uct="0.001" uht="0.002" urt="0.053"'
    article = f'10.0.0.1 [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" status=200 body_bytes_sent=1 {times}'
    manager = (
        "[31/May/2023:08:27:49 +0000]",
        '502 - GET https a.example "/" [Client 10.0.0.7] [Length 154] [Gzip 3.02]',
        '"curl" "-"',
    )
    lines = {
        "common": common,
        "combined": f'{common} "-" "curl"',
        "main": f'{common} "-" "curl" "-"',
        "gitlab_access": f'{common} "-" "curl" 2.31',
        "upstream_time": f'{common} "-" "curl" {times}',
        "upstream_time without a space": f'{common} "-" "curl"{times}',
        "upstreaminfo": f'{common} "-" "curl" 88 0.014 [a] [] 10.0.0.1:80 12 0.010 200 4f5e',
        "article": article,
        "lab": f'{article} pid=1 connection=2 trial="-"',
        "vhost": f'a.example {common} "-" "curl"',
        "nginx-proxy": f'a.example {common} "-" "curl" "172.18.0.3:3000"',
        "Nginx Proxy Manager": f"{manager[0]} - 502 {manager[1]} [Sent-to 10.0.0.5] {manager[2]}",
        "Nginx Proxy Manager, not proxied": f"{manager[0]} {manager[1]} {manager[2]}",
        "explain": f'10.0.0.1 "GET / HTTP/1.1" 200 12 "curl" 1700000000.123 7 42 10.0.0.5:80 {times}',
        "JSON lines": '{"status": 200, "request": "GET / HTTP/1.1"}',
        "logfmt or LTSV": 'status=200 request="GET / HTTP/1.1"',
    }
    assert {item.name for item in KNOWN} == set(lines)
    for name, line in lines.items():
        assert [item.name for item in KNOWN if isinstance(result_of(item, line), LogRecord)] == [name]


@pytest.mark.parametrize(
    "line",
    [
        (
            '{"time_local":"31/May/2023:08:27:49 +0000","request":"GET /a HTTP/1.1","status":200,"request_time":0.058,'
            '"upstream_connect_time":"0.001, 0.002","body_bytes_sent":12,"remote_addr":"::1","pid":7,"host":"a"}'
        ),
        (
            '{"@timestamp":"2023-05-31T08:27:49+00:00","method":"GET","uri":"/a","protocol":"HTTP/1.1","status":"200",'
            '"rt":"0.058","uct":[0.001,0.002],"body_bytes":"12","client_ip":"::1","pid":"7","host":"a"}'
        ),
        (
            '{"ts":1685521669,"request":"GET /a HTTP/1.1","status":200,"request_time":5.8e-2,"uct":"0.001 : 0.002",'
            r'"body_bytes_sent":12,"client":"::1","pid":7,"host":"\x61"}'
        ),
        (
            '{"time":1685521669000,"request_method":"GET","request_uri":"/a","server_protocol":"HTTP/1.1","status":200,'
            '"request_time":0.058,"uct":"0.001, 0.002","body_bytes_sent":12,"remote_addr":"::1","pid":7,"host":"a"}'
        ),
        (
            'ts="31/May/2023:08:27:49 +0000" remote_addr=::1 request="GET /a HTTP/1.1" status=200 request_time=0.058 '
            "uct=0.001, 0.002 body_bytes_sent=12 pid=7 host=a"
        ),
        (
            "time:[31/May/2023:08:27:49 +0000]\tremote_addr:::1\treq:GET /a HTTP/1.1\tstatus:200\treqtime:0.058\t"
            "uct:0.001, 0.002\tbody_bytes_sent:12\tpid:7\thost:a"
        ),
    ],
    ids=["variables", "aliases", "epoch-and-default-escape", "milliseconds", "logfmt", "ltsv"],
)
def test_values_are_read_by_the_names_in_each_line(line: str) -> None:
    record = by_names(line)
    assert (record.time_s, record.request, record.status) == (1_685_521_669, "GET /a HTTP/1.1", 200)
    assert (record.request_time_s, record.upstream_connect_time_s) == (0.058, (0.001, 0.002))
    assert (record.body_bytes, record.remote_addr, record.worker_pid) == (12, "::1", 7)
    assert record.columns["host"] == "a"


def test_requests_are_read_as_fluent_bit_parses_them() -> None:
    """https://docs.fluentbit.io/manual/data-pipeline/parsers/configuring-parser: conf/parsers.conf, "nginx"."""
    fields = '"host": "-", "user": "-", "method": "GET", "path": "/a", "size": "157", "referer": "-", "agent": "curl"'
    record = JsonLines().parse(f'{{"date": 1790000000.1, "remote": "10.0.0.1", {fields}, "code": "502"}}')
    assert (record.remote_addr, record.status, record.body_bytes) == ("10.0.0.1", 502, 157)
    assert record.request == "GET /a"


def test_whole_numbers_in_json_are_left_out_since_they_may_not_be_seconds() -> None:
    """Nginx writes three decimals; a log shipper may convert to milliseconds. Of whole numbers, only 0 is read."""
    times = '"request_time": 35, "upstream_response_time": "35, 0.004", "upstream_header_time": 0, "uct": 4e-3'
    record = JsonLines().parse(f'{{"status": 200, "request": "GET / HTTP/1.1", {times}}}')
    assert record.request_time_s is None
    assert record.upstream_response_time_s == (None, 0.004)
    assert (record.upstream_header_time_s, record.upstream_connect_time_s) == ((0.0,), (0.004,))
    assert record.times_without_unit == ("request_time", "upstream_response_time")


@pytest.mark.parametrize(
    ("fields", "request_s", "response_s"),
    [
        ('"request_time_ms": 1350, "upstream_response_time_ms": "4, 1340"', 1.35, (0.004, 1.34)),
        ('"request_time_us": 250, "urt_msec": 12.5', 0.00025, (0.0125,)),
        ('"request_time_seconds": 12, "upstream_response_time_s": "-"', 12.0, (None,)),
        ('"requestTime": 0.5, "upstreamResponseTimeMs": 250', 0.5, (0.25,)),
        ('"request_time": "35ms", "upstream_response_time": "1.5s, 20ms"', 0.035, (1.5, 0.02)),
        ('"request_time": 0.5, "request_time_ms": 500, "upstream_response_time": "250µs"', 0.5, (0.00025,)),
    ],
    ids=["milliseconds", "microseconds", "seconds", "camel case", "value", "both"],
)
def test_a_time_may_have_its_unit_in_its_name_or_value(
    fields: str, request_s: float, response_s: tuple[float | None, ...]
) -> None:
    """Loggers of other programs and pipelines such as Vector add units."""
    record = JsonLines().parse(f'{{"status": 200, "request": "GET / HTTP/1.1", {fields}}}')
    assert record.request_time_s == pytest.approx(request_s)
    assert record.upstream_response_time_s == pytest.approx(response_s)
    assert record.times_without_unit == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", r"expected a JSON object, found '\[1\]'"),
        ('{"status": 200', "not JSON: Expecting"),
        ('{"status": 200}', "JSON lines without a request"),
        ('{"status": "two", "request": ""}', r"\$status: not a number: 'two'"),
        ('{"status": 2000, "request": ""}', r"\$status: not an HTTP status: '2000'"),
        ('{"status": 200, "request_time": NaN}', "NaN is not JSON"),
        ('{"status": 200, "request_time": 1e999}', r"\$request_time: not a number: '(inf|Infinity)'"),
        ('{"status": 200, "request_time": 1e99}', r"\$request_time: not a number"),
        ('{"status": 200, "time": "soon"}', "any time: Invalid isoformat string: 'soon'"),
        ('{"status": 200, "ts": 99999999999999999999}', "any time: "),
        ('{"a":' * 20_000, "JSON that cannot be read"),
        ('{"status": ' + "1" * 5_000 + "}", "JSON that cannot be read"),
        # Many programs log a status and a time.
        *(
            (line, "expected names of nginx's variables")
            for line in (
                "level=info status=200 time=2026-11-26T09:00:00Z",
                "remote_addr=::1 status=200 and words",
                "status:200\ttime:1",
            )
        ),
    ],
    ids=lambda value: value[:40],
)
def test_a_line_with_names_that_is_not_a_request_is_rejected(line: str, message: str) -> None:
    with pytest.raises(MalformedEvidenceError, match=message):
        by_names(line)


def test_a_quote_within_a_value_may_be_escaped() -> None:
    escaped = PairLines().parse(r'status=200 request="GET /\x22\" HTTP/1.1" remote_addr=::1')
    assert escaped.request == 'GET /"" HTTP/1.1'


def test_halves_of_surrogate_pairs_stay_escaped() -> None:
    """JSON allows them, but UTF-8 does not."""
    record = JsonLines().parse(r'{"status": 200, "request": "GET /\ud800"}')
    assert record.request == r"GET /\ud800"
    other = TextFormat('"$request"', name="any", escape="json").parse(r'"GET /\ud800\u0022"')
    assert other.request == 'GET /\\ud800"'


HOSTILE = [
    "10.0.0.1 - " + " [" * 60_000,
    "10.0.0.1 - - [31/May/2023:08:27:49 +0000] " + '" ' * 60_000,
    '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "a" 200 12 "-" "c" 88 0.014 [' + "] [" * 40_000,
    '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "a" 200 12 "-" "c" 88 0.014 [] [' + "] a, a, a, a" * 10_000,
    "a, " * 40_000,
    "0.001, " * 18_000,
    "0.001 : " * 16_000,
    " 1" * 60_000,
    "\\" * 120_000,
    '{"a":"' + "\\x22" * 30_000,
    "x " * 60_000,
    "a=b " * 30_000,
    "a=" + "b, " * 40_000,
    'a="' + "\\" * 100_000,
    "a:b\t" * 30_000,
]
FORMATS = [
    *KNOWN,
    TextFormat("$a $b $c $d $e $f $g $status", name="words"),
    TextFormat("$a $upstream_addr $b $upstream_response_time $upstream_status $c", name="lists", escape="none"),
    TextFormat("$upstream_connect_time, $upstream_header_time, $upstream_response_time, $pid", name="commas"),
    TextFormat('$a x$b" $c x$d" $status', name="letters", escape="json"),
    TextFormat("${pid}1${connection}1${body_bytes_sent}1$request_length", name="digits"),
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_long_hostile_line_is_read_in_time(line: str) -> None:
    """A pattern with backtracking could take years for one of these lines."""
    assert len(line) <= LONGEST_LINE
    for line_format in FORMATS:
        began_s = time.process_time()
        result_of(line_format, line)
        assert time.process_time() - began_s < 30, line_format.name
