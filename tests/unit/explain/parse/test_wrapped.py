"""nginx's lines are restored from other programs' output."""

import json
from collections.abc import Callable
from typing import Final

import pytest

from tests.support.growth import assert_grows_with_its_size
from tests.support.printed_logs import PRINTED
from tuneproof.explain.parse.error_log import quoted
from tuneproof.explain.parse.wrapped import inner_lines, nginx_line, unwrapped
from tuneproof.wording import plain_quotes

LINE = '2026/11/26 09:00:01 [error] 12#12: *1 access forbidden by rule, client: 10.0.0.9, request: "GET / HTTP/1.1"'


@pytest.mark.parametrize("program", PRINTED)
def test_a_programs_prefix_is_removed(program: str) -> None:
    assert plain_quotes(nginx_line(PRINTED[program](LINE))) == LINE


@pytest.mark.parametrize(
    "line",
    [
        "",
        '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.0" 200 1 "-" "x | 2026/11/26 09:00:01 [error] 1#1: x"',
        '{"status": 200, "request": "GET / HTTP/1.1"}',
        '{"log": 7}',
        "{broken",
        "PHP message: #3 /srv/a.php(12): foo()",
        '{"ua": "2026/11/26 09:00:01 [error] 1#1: x", "status": 200, "request": "GET / HTTP/1.1"}',
        '{"ua": "2026/11/26 09:00:01 [error] 1#1: x", "status": 200, "requ',
        '10.0.0.2 [26/Nov/2026] ua="2026/11/26 09:00:01 [error] 1#1: x"',
        '"GET / HTTP/1.1" 200 "nginx: [emerg] x"',
        '    "original": "2026/11/26 09:00:01 [error] 1#1: x",',
    ],
)
def test_other_lines_are_unchanged(line: str) -> None:
    """Among them are requests in which a client sent the text of a message."""
    assert unwrapped(line) == line
    assert nginx_line(line) == line


REQUEST: Final = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"'
_IN_CSV: Final = REQUEST.replace('"', '""')


@pytest.mark.parametrize(
    "line",
    [
        f"web-7d9f-abcde nginx {REQUEST}",
        f'2026-11-20T09:36:16Z {{app="web", pod="web-7d9f"}} {REQUEST}',
        f'1790000000000,"{_IN_CSV}"',
        json.dumps({"event": {"dataset": "nginx.access", "original": REQUEST}, "source": {"ip": "10.0.0.2"}}),
        f'2026-11-20 09:36:16.000,"{_IN_CSV}",web',
    ],
)
def test_requests_are_restored_from_other_tools_lines(line: str) -> None:
    assert unwrapped(line) == REQUEST


@pytest.mark.parametrize("nested", [True, False])
def test_records_split_by_filebeat_are_joined(nested: bool) -> None:  # noqa: FBT001 - both shapes of one record
    record = {
        "@timestamp": "2026-11-26T09:00:01.000Z",
        "message": "access forbidden by rule, client: 10.0.0.9",
        **(
            {"event": {"dataset": "nginx.error"}, "log": {"level": "ERROR"}}
            if nested
            else {"event.dataset": "nginx.error", "log.level": "error"}
        ),
    }
    assert (
        nginx_line(json.dumps(record)) == "2026/11/26 09:00:01 [error] 0#0: access forbidden by rule, client: 10.0.0.9"
    )
    assert nginx_line(json.dumps({**record, "event": {"dataset": "app"}, "event.dataset": "app"})) == record["message"]


def test_a_line_that_vector_split_into_fields_is_restored() -> None:
    """https://vector.dev/docs/reference/vrl/functions/#parse_nginx_log; other programs also log level and pid."""
    record = {
        "severity": "error",
        "pid": 7,
        "tid": 7,
        "timestamp": "2026-11-26T09:00:01Z",
        "message": "access forbidden by rule",
        "client": "10.0.0.9",
        "server": "a",
        "request": "GET / HTTP/1.1",
    }
    assert nginx_line(json.dumps(record)) == (
        "2026/11/26 09:00:01 [error] 0#0: access forbidden by rule, client: 10.0.0.9, server: a, "
        'request: "GET / HTTP/1.1"'
    )
    pino = {"level": "error", "pid": 7, "time": 1764147601, "message": "access forbidden by rule"}
    assert nginx_line(json.dumps(pino)) == "access forbidden by rule"


EXPORTS = {
    "OpenTelemetry": ({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": LINE}}] * 3}]}]}, 3),
    "Elastic": ({"event": {"original": LINE}}, 1),
    "Azure": ([{"PodName": "web", "LogMessage": LINE}] * 2, 2),
    "Ansible": ({"changed": False, "cmd": ["nginx", "-t"], "rc": 1, "stderr": LINE, "stderr_lines": [LINE]}, 1),
    "CloudWatch": ({"events": [{"timestamp": 1764147601000, "message": LINE}] * 2}, 2),
    "a list": ([{"timestamp": 1764147601000, "message": LINE}] * 2, 2),
    "Loki": ({"data": {"result": [{"stream": {"app": "a"}, "values": [["1764147601000000000", LINE]] * 2}]}}, 2),
    "Elasticsearch": ({"hits": {"hits": [{"_source": {"message": LINE, "event": {"original": LINE}}}] * 2}}, 2),
    "an access log": ({"status": 200, "ua": LINE}, 0),
}


@pytest.mark.parametrize(("record", "number"), EXPORTS.values(), ids=EXPORTS)
def test_lines_are_found_deep_in_an_object(record: object, number: int) -> None:
    """An export may be a single line. Values that a client sent are not messages."""
    assert inner_lines(json.dumps(record)) == [LINE] * number


def test_a_printed_message_may_follow_an_escaped_line_end() -> None:
    """Certbot's log contains such messages."""
    printed = 'nginx: [emerg] unknown directive "a" in /etc/nginx/nginx.conf:1'
    assert nginx_line(f"The error was: MisconfigurationError('Error while running nginx -t.\\n\\n{printed}") == printed


def test_a_line_in_quotes_keeps_the_quotes_inside_it() -> None:
    """A person who quotes a line does not double the inner quotes."""
    assert nginx_line(f'"{LINE}"') == f'{LINE}"'


_PIECES: Final = (
    "a",
    "a |",
    "[pod/",
    "<1>",
    '{"log": "{',
    "2026-11-26T09:00:01Z ",
    "a.log-",
    "Nov 26 09:00:01 ",
    '{"stderr": "',
    '"2026/11/26 09:00:01 [error] 1#1: ""',
    "&quot;",
    'a,"',
)


@pytest.mark.parametrize(
    ("read", "piece"), [*((nginx_line, piece) for piece in _PIECES), (inner_lines, '{"message": "'), (quoted, "9")]
)
def test_a_hostile_line_takes_linear_time(read: Callable[[str], object], piece: str) -> None:
    assert_grows_with_its_size(lambda pieces: read(piece * pieces), size=8_000)
