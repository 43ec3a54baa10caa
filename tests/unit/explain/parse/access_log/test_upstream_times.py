"""Upstream times are collected by server and by path; some times do not count."""

import itertools

import pytest

from tuneproof.explain.parse.access_log.records import LogRecord
from tuneproof.explain.parse.access_log.upstream_times import NOT_LOGGED, UpstreamTimes


def record(request: str = "GET /a HTTP/1.1", *, agent: str = "", status: int = 200, **values: object) -> LogRecord:
    fields = {"upstream_addr": ("x:1",), "upstream_connect_time_s": (0.002,), "upstream_header_time_s": (0.012,)}
    return LogRecord(
        request=request,
        status=status,
        columns={"http_user_agent": agent},
        **{**fields, "worker_pid": 7, **values},  # type: ignore[arg-type]  # a field of each name
    )


def added(*records: LogRecord) -> UpstreamTimes:
    times = UpstreamTimes()
    for each in records:
        times.add(each)
    return times


def test_connect_times_of_zero_do_not_count_as_new_connections() -> None:
    tried = record(upstream_addr=("x:1", "y:1"), upstream_connect_time_s=(0.0, 0.08))
    (each,) = added(tried, record(upstream_connect_time_s=(0.0,))).connects()
    assert (each.worker_pid, each.server, each.connect_time_s.median) == (7, "y:1", 0.08)


def test_servers_without_an_address_count_as_one() -> None:
    (each,) = added(*[record(upstream_addr=())] * 2).connects()
    assert (each.server, each.connect_time_s.count) == (NOT_LOGGED, 2)


def test_the_backends_own_time_is_reported_by_path() -> None:
    """This is the last server's time to the response header without its connect time; ids in paths are ignored."""
    times = added(record("GET /items/17?x=1 HTTP/1.1"), record("GET /items/18 HTTP/1.1"), record("GET /help HTTP/1.1"))
    assert [(each.server, each.path, each.own_time_s.count) for each in times.paths()] == [
        ("x:1", "/items/*", 2),
        ("x:1", "/help", 1),
    ]
    assert times.paths()[0].own_time_s.median == pytest.approx(0.01)


@pytest.mark.parametrize(
    "given",
    [
        # A backend waits for a body that nginx does not buffer; a 101 begins a WebSocket session.
        record("POST /a HTTP/1.1"),
        record(""),
        record(status=101),
        record(upstream_header_time_s=(None,)),
        record(upstream_header_time_s=(), upstream_connect_time_s=()),
    ],
    ids=["a body", "no request line", "upgraded", "no answer", "no upstream"],
)
def test_requests_with_a_body_or_without_a_response_have_no_own_time(given: LogRecord) -> None:
    assert added(given).paths() == ()


def test_the_numbers_of_paths_and_of_pairs_of_worker_and_server_are_limited() -> None:
    """An attacker can send any number of paths."""
    paths = map("".join, itertools.product("abcdefghijk", repeat=3))
    times = added(*(record(f"GET /{path} HTTP/1.1", worker_pid=pid) for pid, path in enumerate(paths)))
    assert (len(times.paths()), len(times.connects())) == (500, 1_000)
