"""The access log of the source article, and of the lab, become records and figures; nothing is dropped."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fixtures.evidence.access_log import parse, parse_line, summary

# Recorded by the source article during the stall, with reuseport and the host's default tcp_rmem.
STALLED = """\
172.31.91.109 [31/May/2023:08:27:49 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.790 uct="0.413" uht="0.592" urt="0.791"
172.31.91.109 [31/May/2023:08:27:50 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.058 uct="0.000" uht="0.002" urt="0.053"
172.31.91.109 [31/May/2023:08:27:51 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
172.31.91.109 [31/May/2023:08:27:51 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.763 uct="0.400" uht="0.580" urt="0.763"
172.31.91.109 [31/May/2023:08:27:52 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.767 uct="0.480" uht="0.768" urt="0.768"
172.31.91.109 [31/May/2023:08:27:53 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=580007 rt=0.773 uct="0.330" uht="0.431" urt="0.773"
172.31.91.109 [31/May/2023:08:27:55 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
172.31.91.109 [31/May/2023:08:27:55 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
"""  # noqa: E501 - recorded lines are not folded
# The same with net.ipv4.tcp_rmem="40960 40960 40960".
CURED = """\
172.31.91.109 [05/Jun/2023:06:13:22 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.101 uct="0.001" uht="0.004" urt="0.101"
172.31.91.109 [05/Jun/2023:06:13:22 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.064 uct="0.001" uht="0.002" urt="0.064"
172.31.91.109 [05/Jun/2023:06:13:23 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.044 uct="0.000" uht="0.001" urt="0.044"
"""  # noqa: E501 - recorded lines are not folded
FULL_BODY_BYTES = {"/server.pcap": 3_602_590}


def a_line(**changes: str) -> str:
    """Return a line in the lab's format, with ``changes``."""
    values = {
        "request": "GET /small HTTP/1.1",
        "status": "200",
        "bytes": "3602590",
        "rt": "0.058",
        "uct": "0.001",
        "uht": "0.002",
        "urt": "0.053",
        "tail": ' pid=31 connection=7 trial="b1-loaded"',
    } | changes
    return (
        '172.18.0.3 [20/Nov/2026:09:36:16 +0000] "{request}" status={status} body_bytes_sent={bytes} '
        'rt={rt} uct="{uct}" uht="{uht}" urt="{urt}"{tail}'
    ).format(**values)


def test_line_of_the_article_is_read_in_full() -> None:
    """Each column arrives in its field, and what the article did not log is None."""
    record = parse_line(STALLED.splitlines()[0])
    assert record.remote_addr == "172.31.91.109"
    assert record.time == datetime(2023, 5, 31, 8, 27, 49, tzinfo=UTC)
    assert record.request == "GET /server.pcap HTTP/1.1"
    assert (record.status, record.body_bytes, record.request_time_s) == (200, 102_195, 0.790)
    assert record.upstream_connect_time_s == (0.413,)
    assert record.upstream_header_time_s == (0.592,)
    assert record.upstream_response_time_s == (0.791,)
    assert (record.worker_pid, record.connection, record.trial) == (None, None, None)


def test_time_that_nginx_had_not_is_none() -> None:
    """A 499 without an upstream connection has no connect time: not zero seconds."""
    record = parse_line(STALLED.splitlines()[2])
    assert (record.status, record.upstream_connect_time_s, record.upstream_response_time_s) == (499, (None,), (0.0,))


def test_line_of_the_lab_names_worker_connection_and_trial() -> None:
    """The lab's three further columns tell who served which trial."""
    record = parse_line(a_line())
    assert (record.worker_pid, record.connection, record.trial) == (31, 7, "b1-loaded")
    assert parse_line(a_line(tail=' pid=31 connection=7 trial="-"')).trial is None


def test_local_time_keeps_its_zone() -> None:
    """A subject outside UTC logs its own time; the record's time is aware of it."""
    record = parse_line(a_line().replace("+0000", "+0530"))
    assert record.time == datetime(2026, 11, 20, 9, 36, 16, tzinfo=timezone(timedelta(hours=5, minutes=30)))


@pytest.mark.parametrize(
    ("logged", "times_s"),
    [
        ("0.100, 0.200", (0.1, 0.2)),
        ("0.100 : 0.200", (0.1, 0.2)),
        ("-, 0.200 : -", (None, 0.2, None)),
        ("0.100 : ", (0.1,)),
    ],
)
def test_several_upstream_servers_keep_their_times_apart(logged: str, times_s: tuple[float | None, ...]) -> None:
    """After a retry or an internal redirect there is one time per server."""
    assert parse_line(a_line(uct=logged)).upstream_connect_time_s == times_s


@pytest.mark.parametrize("request_line", ["", r"\x16\x03\x01", r"GET /a\x22b HTTP/1.1"])
def test_broken_request_line_is_still_a_record(request_line: str) -> None:
    """What a client sends is escaped by nginx: an empty or a binary request is logged, so it is read."""
    assert parse_line(a_line(request=request_line, status="400")).request == request_line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "remote_addr: expected"),
        (a_line().replace("20/Nov", "32/Nov"), "time_local: time data '32/Nov/2026"),
        (a_line(status="2OO"), "status: expected .* at character 63, found 'status=2OO"),
        (a_line(bytes="-1"), "body_bytes_sent: expected"),
        (a_line(rt="0,058"), "request_time: expected"),
        (a_line(uct="0.0.1"), "upstream_connect_time: expected"),
        (a_line(uht=""), "upstream_header_time: expected"),
        (a_line(urt="0.053;0.1"), "upstream_response_time: expected"),
        (a_line(tail=" pid=x"), "pid: expected"),
        (a_line(tail=" pid=31"), "connection: expected"),
        (a_line(tail=" pid=31 connection=7"), "http_x_trial: expected"),
        (a_line() + " more", "after the last column: unexpected ' more'"),
    ],
)
def test_line_in_another_format_names_the_column(line: str, message: str) -> None:
    """The error tells where the line leaves the format."""
    with pytest.raises(ValueError, match=f"^{message}"):
        parse_line(line)


def test_unmatched_lines_are_kept_with_their_number() -> None:
    """A foreign, an empty and a half-written line are returned, and the records around them too."""
    records, unmatched = parse(f"{a_line()}\n\nGET / 200\n{a_line()}\n{a_line()[:40]}")
    assert len(records) == 2
    assert [(line.number, line.text) for line in unmatched] == [(2, ""), (3, "GET / 200"), (5, a_line()[:40])]


def test_empty_log_has_no_lines() -> None:
    """A subject that served nothing leaves an empty log, which is no unmatched line."""
    assert parse("") == ([], [])


def test_summary_shows_the_stall_of_the_article() -> None:
    """Three 499s, four 200s cut short, and connect times up to 0.48 s, as the article says."""
    records, unmatched = parse(STALLED)
    figures = summary(records, full_body_bytes=FULL_BODY_BYTES)
    assert unmatched == []
    assert (figures.requests, figures.status_counts) == (8, {200: 5, 499: 3})
    assert (figures.client_closed_499, figures.short_200) == (3, 4)
    assert figures.connect_time_max_s == 0.480
    assert figures.connect_time_p50_s == 0.400
    assert figures.connect_time_p90_s == 0.480


def test_summary_shows_the_cure_of_the_article() -> None:
    """With a small receive buffer everything arrives, and connecting takes a millisecond."""
    figures = summary(parse(CURED)[0], full_body_bytes=FULL_BODY_BYTES)
    assert (figures.short_200, figures.client_closed_499, figures.connect_time_max_s) == (0, 0, 0.001)


def test_size_that_nobody_knows_is_the_most_frequent_one() -> None:
    """Without the file's size, what most requests got counts as whole: per URI, whatever the query."""
    sizes = [("/a?x=1", "100"), ("/a?x=2", "100"), ("/a", "99"), ("/b", "7"), ("/b", "9")]
    records, _ = parse("\n".join(a_line(request=f"GET {uri} HTTP/1.1", bytes=size) for uri, size in sizes))
    assert summary(records).short_200 == 2
    assert summary(records, full_body_bytes={"/a": 99}).short_200 == 1


def test_most_frequent_size_misleads_where_most_were_cut_short() -> None:
    """The article's own log shows why the size should be given: its usual response is a truncated one."""
    assert summary(parse(STALLED)[0]).short_200 == 0


def test_only_a_get_can_be_short() -> None:
    """A HEAD has no body, and an error page is not the file."""
    lines = [a_line(), a_line(request="HEAD /small HTTP/1.1", bytes="0"), a_line(status="502", bytes="150")]
    assert summary(parse("\n".join(lines))[0], full_body_bytes={"/small": 3_602_590}).short_200 == 0


def test_log_without_connect_times_has_no_percentiles() -> None:
    """No figure is made up where nothing was measured."""
    figures = summary(parse(a_line(uct="-"))[0])
    assert (figures.connect_time_max_s, figures.connect_time_p50_s, figures.connect_time_p90_s) == (None, None, None)
