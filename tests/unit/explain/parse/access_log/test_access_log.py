"""Access logs of the article and of the lab are read completely, and summarised."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.support.canned_access_logs import CURED, STALLED, a_line
from tuneproof.explain.parse.access_log import sums
from tuneproof.explain.parse.access_log.known import ARTICLE, COMBINED, LAB
from tuneproof.explain.parse.access_log.log_summary import figures, summarise
from tuneproof.explain.parse.access_log.records import LineFormat, LogRecord, UnmatchedLine, records
from tuneproof.explain.parse.access_log.sums import Clients, Failing, Outage, Outages, Sample, Seconds, ShortBodies
from tuneproof.explain.parse.figures import distribution
from tuneproof.explain.parse.problems import MalformedEvidenceError

FULL_BODY_BYTES = {"/server.pcap": 3_602_590}


def summary(
    lines: Iterable[str], *, line_format: LineFormat = LAB, full_body_bytes: dict[str, int] | None = None
) -> Any:
    """Return the summary of a log; its type is Any because most figures may be None."""
    return summarise(records(lines, line_format), format_name=line_format.name, full_body_bytes=full_body_bytes)


def test_lines_of_the_article_and_of_the_lab_are_read_completely() -> None:
    """A 499 without an upstream connection has no connect time, not zero seconds; local time keeps its zone."""
    record = ARTICLE.parse(STALLED.splitlines()[0])
    assert (record.remote_addr, record.request) == ("172.31.91.109", "GET /server.pcap HTTP/1.1")
    assert (record.time, record.time_s) == (datetime(2023, 5, 31, 8, 27, 49, tzinfo=UTC), 1_685_521_669)
    assert (record.status, record.body_bytes, record.request_time_s) == (200, 102_195, 0.790)
    assert (record.upstream_connect_time_s, record.upstream_header_time_s) == ((0.413,), (0.592,))
    assert (record.upstream_response_time_s, record.columns) == ((0.791,), {})
    assert (record.worker_pid, record.connection, record.trial) == (None, None, None)
    left = ARTICLE.parse(STALLED.splitlines()[2])
    assert (left.status, left.upstream_connect_time_s, left.upstream_response_time_s) == (499, (None,), (0.0,))
    record = LAB.parse(a_line().replace("+0000", "+0530"))
    assert (record.worker_pid, record.connection, record.trial) == (31, 7, "b1-loaded")
    assert record.time == datetime(2026, 11, 20, 9, 36, 16, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert LAB.parse(a_line(tail=' pid=31 connection=7 trial="-"')).trial is None


@pytest.mark.parametrize(
    ("logged", "received"),
    [
        ("", ""),
        (r"\x16\x03\x01", "\x16\x03\x01"),
        (r"GET /a\x22b\x5C HTTP/1.1", 'GET /a"b\\ HTTP/1.1'),
        (r"GET /\xC3\xA9\xFF HTTP/1.1", r"GET /é\xff HTTP/1.1"),
    ],
    ids=["empty", "binary", "quote", "not-utf-8"],
)
def test_a_broken_request_line_is_still_a_record(logged: str, received: str) -> None:
    """Nginx escapes a client's bytes: they are decoded, and bytes that are not UTF-8 stay escaped."""
    assert LAB.parse(a_line(request=logged, status="400")).request == received


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "column 1: an empty line"),
        ("nonsense", r"column 1: expected \$remote_addr \(a word\) and then ' \[', found 'nonsense'"),
        (a_line().replace("20/Nov", "32/Nov"), r"column 13: \$time_local: day .*range"),
        (a_line().replace("20/Nov", "20/Nox"), r"column 13: \$time_local: not a time such as"),
        (a_line(status="2OO"), r"column 70: expected \$status \(three digits\) .*, found '2OO"),
        (a_line(bytes="-1"), r"column 90: expected \$body_bytes_sent"),
        (a_line(rt="0,058"), r"column 101: expected \$request_time"),
        (a_line(uct="0.0.1"), r"column 112: expected \$upstream_connect_time"),
        (a_line(uht=""), r"column 124: expected \$upstream_header_time"),
        (a_line(urt="0.053;0.1"), r"column 136: expected \$upstream_response_time"),
        (a_line(tail=" pid=x"), r"column 147: expected \$pid"),
        (a_line(tail=" pid=31"), r"column 147: expected \$pid"),
        (a_line(tail=" pid=31 connection=7"), r"column 161: expected \$connection"),
        (a_line() + " more", "column 180: expected the end of the line, found ' more'"),
    ],
)
def test_the_error_for_a_line_in_another_format_names_the_column(line: str, message: str) -> None:
    with pytest.raises(MalformedEvidenceError, match=f"^{message}"):
        LAB.parse(line)


def test_unmatched_lines_are_kept_with_their_number() -> None:
    """Only a few such lines are kept, without blank lines; very long lines are shortened."""
    lines = [a_line(), "", "GET / 200", a_line(), a_line()[:40]]
    entries = list(records(lines, LAB))
    assert [isinstance(entry, LogRecord) for entry in entries] == [True, False, False, True, False]
    unmatched = [entry for entry in entries if isinstance(entry, UnmatchedLine)]
    assert [(line.number, line.text) for line in unmatched] == [(2, ""), (3, "GET / 200"), (5, a_line()[:40])]
    assert unmatched[1].why.startswith("column 1: expected $remote_addr")
    result = summary(["", "  ", *["nonsense"] * 9])
    assert (result.blank_lines, result.unmatched_lines) == (2, 9)
    assert [line.number for line in result.unmatched_samples] == [3, 4, 5, 6, 7]
    (entry,) = records(["x" * 1_000_000], LAB)
    assert isinstance(entry, UnmatchedLine)
    assert (len(entry.text), entry.why) == (500, "a line of more than 131072 characters")


@pytest.mark.parametrize(
    "line",
    [f"{a_line()}\r\n", f"\ufeff{a_line()}", f"\xef\xbb\xbf{a_line()}\n", f"{chr(0) * 5000}{a_line()}"],
    ids=["crlf", "byte-order-mark", "as-latin-1", "hole-of-copytruncate"],
)
def test_line_endings_byte_order_marks_and_nuls_are_removed(line: str) -> None:
    assert list(records([line], LAB)) == [LAB.parse(a_line())]


def test_a_summary_shows_the_stall_in_the_article() -> None:
    """Three 499s took 0 s, four 200s are truncated, connects take up to 0.48 s; the remedy ends all three."""
    result = summary(STALLED.splitlines(), line_format=ARTICLE, full_body_bytes=FULL_BODY_BYTES)
    assert (result.requests, result.unmatched_lines, result.status_counts) == (8, 0, {200: 5, 499: 3})
    assert (result.client_closed_499, result.closed_499_without_time, result.short_200) == (3, 3, 4)
    assert result.connect_time_s == distribution([0.413, 0.000, 0.400, 0.480, 0.330])
    assert (result.connect_time_s.median, result.connect_time_s.p90) == (0.400, 0.480)
    assert result.header_minus_connect_s.maximum == pytest.approx(0.288)
    assert result.client_time_s.maximum == pytest.approx(0.005)
    assert (result.first_time, result.last_time) == (
        datetime(2023, 5, 31, 8, 27, 49, tzinfo=UTC),
        datetime(2023, 5, 31, 8, 27, 55, tzinfo=UTC),
    )
    assert (result.per_second_max, result.out_of_order_lines) == (2, 0)
    cured = summary(CURED.splitlines(), line_format=ARTICLE, full_body_bytes=FULL_BODY_BYTES)
    assert (cured.short_200, cured.client_closed_499, cured.connect_time_s.maximum) == (0, 0, 0.001)


def test_an_unknown_size_is_assumed_to_be_the_most_common_one() -> None:
    """The size that at least half of a URI's responses have counts as complete; query strings are ignored.

    A smaller size that occurs twice may be that of a compressed body; a page with many sizes may be generated. If
    most responses were cut short, as in the article, none looks short.
    """
    sizes = [("/a?x=1", "100"), ("/a?x=2", "100"), ("/a", "99"), ("/b", "9"), ("/b", "9"), ("/b", "7")]
    sizes += [("/c", size) for size in ("100", "100", "30", "30")]
    lines = [a_line(request=f"GET {uri} HTTP/1.1", bytes=size) for uri, size in sizes]
    assert summary(lines).short_200 == 2
    assert summary(lines, full_body_bytes={"/a": 99}).short_200 == 1
    lines = [a_line(request="GET /page HTTP/1.1", bytes=str(size)) for size in (100, 100, 90, 80, 70)]
    assert summary(lines).short_200 == 0
    assert summary(lines, full_body_bytes={"/page": 100}).short_200 == 3
    assert summary(STALLED.splitlines(), line_format=ARTICLE).short_200 == 0


def test_only_a_successful_get_can_be_short() -> None:
    """A HEAD has no body, and an error page is not the file."""
    lines = [a_line(), a_line(request="HEAD /small HTTP/1.1", bytes="0"), a_line(status="502", bytes="150")]
    result = summary(lines, full_body_bytes={"/small": 3_602_590})
    assert (result.short_200, result.upstream_failures) == (0, 1)


def test_short_bodies_are_counted_for_a_limited_number_of_uris_of_limited_length() -> None:
    bodies = ShortBodies({})
    for uri in [f"/{number}" for number in range(3_000)] + ["/" + "x" * 2_000]:
        bodies.add(LogRecord(request=f"GET {uri} HTTP/1.1", status=200, body_bytes=1))
    for uri in ("/1", "/1", "/1", "/2999", "/2999", "/2999"):
        bodies.add(LogRecord(request=f"GET {uri} HTTP/1.1", status=200, body_bytes=9))
    assert bodies.count() == 1


def test_no_durations_are_reported_for_a_log_without_times() -> None:
    """Missing values are None, and a 499 of unknown duration does not count as one that took 0 s."""
    line = '10.0.0.1 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 499 0 "-" "curl"'
    result = summary([line], line_format=COMBINED)
    assert (result.client_closed_499, result.closed_499_without_time, result.retried_requests) == (1, None, None)
    assert (result.request_time_s, result.connect_time_s, result.client_time_s) == (None, None, None)
    assert result.workers == ()
    empty = summary([])
    assert (empty.requests, empty.unmatched_lines, empty.client_closed_499) == (0, 0, 0)
    assert (empty.short_200, empty.request_time_s, empty.first_time, empty.per_second_max) == (None,) * 4


@pytest.mark.parametrize(("times", "without"), [(("0.000", "-"), 1), (("0.001", "-"), 0), (("0.000", "0.002"), 0)])
def test_a_499_took_no_time_if_neither_nginx_nor_an_upstream_took_any(times: tuple[str, str], without: int) -> None:
    rt, urt = times
    assert summary([a_line(status="499", rt=rt, uct="-", uht="-", urt=urt)]).closed_499_without_time == without


def test_an_abandoned_request_does_not_count_as_a_slow_one() -> None:
    """The client's patience limits its time: it is neither a response's time nor that of its worker's requests."""
    result = summary([a_line(rt="0.100"), a_line(status="499", rt="60.000", bytes="0")])
    shown = {figure.name: figure.value for figure in figures(result)}
    assert result.request_time_s == result.workers[0].request_time_s == distribution([0.1])
    assert (result.sent_at_once_s, result.left_after_s) == (None, distribution([60.0]))
    assert shown["request time of answered requests, longest"] == 0.1


def test_workers_are_summarised_separately_up_to_a_limit() -> None:
    """A stalled worker differs from the others. At most 256 workers are kept, since memory is limited."""
    lines = [
        a_line(uct=uct, tail=f' pid={pid} connection=7 trial="-"') for pid, uct in ((2, "0.001"), (1, "0.400")) * 3
    ]
    slow, fast = summary(lines).workers
    assert (slow.worker_pid, slow.requests, slow.connect_time_s) == (1, 3, distribution([0.4] * 3))
    assert (fast.worker_pid, fast.requests, fast.connect_time_s) == (2, 3, distribution([0.001] * 3))
    result = summary(a_line(tail=f' pid={pid} connection=7 trial="-"') for pid in range(300))
    assert (len(result.workers), result.requests) == (256, 300)


def test_a_retried_request_has_each_servers_connect_time_and_the_last_servers_processing_time() -> None:
    result = summary([a_line(rt="0.400", uct="0.100, 0.200", uht="-, 0.250", urt="0.100, 0.260")])
    assert result.retried_requests == 1
    assert result.connect_time_s == distribution([0.1, 0.2])
    assert result.header_minus_connect_s.maximum == pytest.approx(0.05)
    assert result.client_time_s.maximum == pytest.approx(0.04)


SLOW = {"rt": "8.000", "urt": "0.100"}


@pytest.mark.parametrize(
    ("lines", "figure", "times_s"),
    [
        # An upgraded connection lasts as long as the session, and no user waits.
        ([a_line(status="101", rt="3600.000", urt="3600.000"), a_line(rt="0.010")], "request_time_s", [0.01]),
        ([a_line(status="408", bytes="0", rt="60.000"), a_line(rt="0.010")], "request_time_s", [0.01]),
        ([a_line(status="502", rt="0.002"), a_line(rt="9.000")], "bad_gateway_s", [0.002]),
        # Nginx reads a body before it connects to the upstream, so the client may have sent it slowly.
        ([a_line(request=f"{method} / HTTP/1.1", **SLOW) for method in ("POST", "GET")], "client_time_s", [7.9]),
        # A response that fits into the send buffer does not wait for the client; limit_req may have delayed it.
        ([a_line(bytes=size, **SLOW) for size in ("16384", "16385", "-")], "client_time_s", [7.9]),
        # Time that the client takes to send or to read does not count as the upstream's.
        (
            [
                a_line(bytes="16384", **SLOW),
                a_line(bytes="16385", **SLOW),
                a_line(bytes="2", request="POST / HTTP/1.1", **SLOW),
                a_line(bytes="2", status="101", **SLOW),
            ],
            "small_response_s",
            [0.1],
        ),
        # Time in which no connection was established does not count as the upstream's, either.
        (
            [a_line(bytes="160", status="504", uct="-", uht="-", urt="60.0"), a_line(bytes="9")],
            "small_response_s",
            [0.053],
        ),
        ([a_line(bytes="16384", rt="0.020"), a_line(bytes="16385", rt="9.000")], "sent_at_once_s", [0.02]),
    ],
    ids=["upgraded", "408", "502", "a body", "small", "upstreams alone", "not connected", "sent at once"],
)
def test_times_with_another_cause_do_not_count(lines: list[str], figure: str, times_s: list[float]) -> None:
    assert getattr(summary(lines), figure) == distribution(times_s)


def test_the_size_of_a_response_may_include_its_headers() -> None:
    """Some formats contain $bytes_sent instead of $body_bytes_sent."""
    sizes = (1_200, 20_000)
    times: dict[str, Any] = {"request": "GET / HTTP/1.1", "request_time_s": 8.0, "upstream_response_time_s": (0.1,)}
    result = summarise((LogRecord(sent_bytes=size, **times) for size in sizes), format_name="main")
    assert (result.small_response_s, result.client_time_s) == (distribution([0.1]), distribution([7.9]))


@pytest.mark.parametrize(
    ("status", "uct", "uht", "urt", "unanswered", "timeouts"),
    [
        ("504", "0.001", "-", "60.001", [60.0], 0),
        ("499", "0.001", "-", "5.001", [5.0], 0),
        ("504", "-", "-", "60.000", [], 1),
        # The client left before the connection was open, so nothing timed out.
        ("499", "-", "-", "5.000", [], 0),
        ("200", "0.001", "0.002", "60.000", [], 0),
        # nginx did not give up: the backend refused, or closed the connection.
        ("502", "0.001", "-", "0.001", [], 0),
        ("504", "0.001, 0.001", "-, -", "0.001, 60.001", [60.0], 0),
        ("504", "0.001, -", "-, -", "0.001, 60.000", [], 1),
    ],
)
def test_unanswered_requests_and_connect_timeouts_are_counted(
    status: str, uct: str, uht: str, urt: str, unanswered: list[float], timeouts: int
) -> None:
    result = summary([a_line(status=status, uct=uct, uht=uht, urt=urt)])
    given_up = result.unanswered_s
    assert (given_up.count if given_up else 0, result.connect_timeouts) == (len(unanswered), timeouts)
    assert given_up is None or given_up.maximum == pytest.approx(unanswered[0])


def test_lines_out_of_order_are_counted() -> None:
    seconds = (16, 18, 17, 15)
    result = summary([a_line().replace(":16 ", f":{second} ") for second in seconds])
    assert result.out_of_order_lines == 2
    assert (result.first_time.second, result.last_time.second) == (15, 18)
    assert result.per_second_max == 1


def test_the_busiest_second_of_a_long_log_is_kept() -> None:
    """Counts of the earliest seconds are dropped, but the highest count is kept."""
    seconds = Seconds()
    for second in (0, 0, 0, *range(1, 150_001)):
        seconds.add(float(second))
    assert (seconds.busiest, seconds.first_s, seconds.last_s) == (3, 0.0, 150_000.0)
    assert len(seconds._counts) <= 100_000
    assert max(seconds._counts) == 150_000


def failing(*minutes: tuple[int, int]) -> Outages:
    """Return counts of minutes with the given numbers of requests and server errors."""
    outages = Outages()
    for minute, (requests, failed) in enumerate(minutes):
        for number in range(requests):
            outages.add(60.0 * minute + 59.9 * number / requests, has_failed=number < failed)
    return outages


def test_the_worst_outage_is_the_period_with_most_server_errors() -> None:
    """A minute with few errors between two bad ones is part of it; minutes with 5 % errors are not an outage."""
    outages = failing((100, 0), (100, 40), (100, 3), (100, 50), (1_000, 2), (100, 30))
    assert outages.worst() == Outage(begin_s=60, end_s=240, requests=300, failed=93)
    assert failing((100, 5), (100, 5)).worst() is None


@pytest.mark.parametrize(("failing", "other", "is_one"), [("a", "b", True), ("a", "a", False), ("b", "b", False)])
def test_an_outage_of_one_client_is_marked_if_there_are_others(failing: str, other: str, *, is_one: bool) -> None:
    """Behind a balancer, all clients may have its address."""
    outages = Outages()
    for at in range(120):
        outages.add(float(at), has_failed=at % 2 == 0, client=("a" if at % 4 else failing) if at % 2 == 0 else other)
    outage = outages.worst()
    assert outage is not None
    assert outage.is_of_one_client == is_one


def test_each_kind_of_failure_has_its_outage() -> None:
    """A health check that gives up is not an abandonment; an upstream's time ends with the response's header."""
    kinds = {"outage": (504, 0.2), "abandonment": (499, 0.2), "slowness": (200, 1.0)}
    for kind, (status, header_s) in kinds.items():
        record = LogRecord(
            time_s=600.0,
            time=datetime(1970, 1, 1, 0, 10, tzinfo=UTC),
            status=status,
            upstream_header_time_s=(0.0, header_s),
        )
        found = summarise([record], format_name="own")
        assert {name for name in kinds if getattr(found, name) is not None} == {kind}
    probe = LogRecord(
        time_s=600.0, time=datetime(1970, 1, 1, 0, 10, tzinfo=UTC), status=499, request="GET /healthz HTTP/1.1"
    )
    assert summarise([probe], format_name="own").abandonment is None


@pytest.mark.parametrize(
    ("status", "logged", "headers_s", "by"),
    [
        (503, (502, 503), (), "upstream"),
        (503, (503, 502), (), ""),
        (503, (None,), (), "nginx"),
        (503, (), (), ""),
        (200, (200,), (), ""),
        # nginx also logs these statuses for an upstream without an answer.
        (502, (502,), (None,), ""),
        (502, (502,), (), ""),
        (504, (504,), (0.1,), "upstream"),
    ],
)
def test_the_upstreams_status_shows_who_sent_an_error(
    status: int, logged: tuple[int | None, ...], headers_s: tuple[float | None, ...], by: str
) -> None:
    record = LogRecord(status=status, upstream_status=logged, upstream_header_time_s=headers_s)
    result = summarise([record], format_name="own")
    assert result.upstream_errors == ({status: 1} if by == "upstream" else {})
    assert result.nginx_errors == ({status: 1} if by == "nginx" else {})


@pytest.mark.parametrize(
    ("status", "logged", "hidden"),
    [
        (200, (502, 200), 1),
        (200, (502,), 1),
        (404, (502, 404), 1),
        (499, (502, None), 0),
        (504, (502, 504), 0),
        (502, (502,), 0),
        (200, (200,), 0),
    ],
)
def test_a_502_that_another_upstream_or_a_cache_replaced_is_counted(
    status: int, logged: tuple[int | None, ...], hidden: int
) -> None:
    assert summarise([LogRecord(status=status, upstream_status=logged)], format_name="own").hidden_502 == hidden


def test_a_limited_number_of_clients_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_MOST_CLIENTS", 2)
    clients = Clients()
    for address in ("x" * 101, "a", "b", "c", "b"):
        clients.add(LogRecord(remote_addr=address, status=500))
    assert (clients.requests, clients.are_all) == ({"a": 1, "b": 2}, False)
    assert clients.most_failing((500,)) == Failing(address="b", failed=2, requests=2)
    assert clients.most_failing((502,)) is None


def test_a_long_logs_last_outage_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_MOST_MINUTES", 100)
    outages = Outages()
    for minute in range(151):
        outages.add(60.0 * minute, has_failed=minute in {0, 150})
    assert outages.worst() == Outage(begin_s=9_000, end_s=9_060, requests=1, failed=1)


@pytest.mark.parametrize("count", [1, 999, 1_000, 1_001, 2_500, 100_000])
def test_percentiles_of_a_sample_are_approximate_and_other_figures_exact(count: int) -> None:
    sample = Sample(most=1_000)
    assert sample.distribution() is None
    for value in range(count):
        sample.add(float(value))
    result: Any = sample.distribution()
    exact: Any = distribution(range(count))
    assert (result.count, result.minimum, result.maximum) == (exact.count, exact.minimum, exact.maximum)
    assert result.mean == pytest.approx(exact.mean)
    assert result.median == pytest.approx(exact.median, abs=0.002 * count)
    assert result.p99 == pytest.approx(exact.p99, abs=0.002 * count)
    assert len(sample._kept) <= 1_000


def test_figures_are_few_and_show_unknown_values() -> None:
    lines = [a_line(status="499", tail=f' pid={pid} connection=7 trial="-"') for pid in (1, 2)]
    shown = {figure.name: figure.value for figure in figures(summary([*lines, lines[0].replace(":16 ", ":15 ")]))}
    assert len(shown) <= 25
    assert (shown["requests"], shown["abandoned by the client (499)"], shown["workers"]) == (3, 3, 2)
    assert shown["time to connect to the upstream, median"] == 0.001
    nothing = {figure.name: figure.value for figure in figures(summary([]))}
    assert nothing["time to connect to the upstream"] is None
    assert nothing["abandoned by the client (499)"] == 0
