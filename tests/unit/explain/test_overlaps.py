"""Requests and messages in a copied log count once, and overlapping logs are reported."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.explained import explained
from tuneproof.explain.diagnosis.render import headline, rows, to_json
from tuneproof.explain.document import document


def refusals(connections: Iterable[int], *, pid: int = 7, before: str = "") -> str:
    """Return one message for each connection number, each after a prefix such as that of Docker Compose."""
    return "".join(
        f"{before}2026/11/26 09:{number % 60:02}:00 [error] {pid}#{pid}: *{number} connect() failed (111: Connection "
        "refused) while connecting to upstream, client: 10.0.0.9, server: a, "
        'request: "GET / HTTP/1.1", upstream: "http://10.0.0.5:80/", host: "a"\n'
        for number in connections
    )


def start(hour: int) -> str:
    return f'2026/11/26 {hour:02}:00:00 [emerg] 1#1: host not found in upstream "app" in /etc/nginx/nginx.conf:9\n'


def requests(*numbers: int) -> str:
    return "".join(
        f'10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET /{number} HTTP/1.1" 200 612 "-" "curl/8"\n'
        for number in numbers
    )


def probes(number: int) -> str:
    """Return a monitor's requests, one every five seconds."""
    return "".join(
        f"10.0.0.1 - - [20/Nov/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000] "
        '"GET /health HTTP/1.1" 200 2 "-" "kube-probe/1.30"\n'
        for second in range(0, 5 * number, 5)
    )


ONCE: Final = "as well: they count once"
TWICE: Final = "as well: they count twice"
OF_CONNECTIONS: Final = "of its messages about connections are in"
ONE_CLIENT: Final = (
    "its lines are in web1.log as well, and differ from each other only in their times: they count as one client's "
    "requests to two hosts; if it is a copy, leave it out"
)
OTHER_TIME: Final = (
    "its messages and the requests in the access logs are from different times: neither explains the other"
)
ANY_ZONE: Final = refusals(range(10)).replace("11/26 09:", "11/20 19:")
Logs = Mapping[str, str]
Counts = Sequence[int]
# Logs, the warning about each, the messages per problem, and the requests per access log that is kept.
CASES: Final[Mapping[str, tuple[Logs, Sequence[str], Counts, Counts]]] = {
    "a log and the container's output of the same time": (
        {"error.log": refusals(range(3)), "docker.txt": refusals(range(3), before="web-1  | ")},
        ["", "has the same messages as error.log: they count once"],
        *([3], []),
    ),
    # The log's end was copied before nginx wrote the last ten lines.
    "the end of an error log": (
        {"copy.txt": refusals(range(20, 30), before="web-1  | "), "error.log": refusals(range(40))},
        [f"its messages are in error.log {ONCE}", ""],
        *([40], []),
    ),
    "error logs that overlap": (
        {"error.log.1": refusals(range(30)), "error.log": refusals(range(24, 50))},
        ["", f"about 23.1 % {OF_CONNECTIONS} error.log.1 {TWICE}"],
        *([56], []),
    ),
    # Logs with equal counts and times need not be copies. Two containers may fail to start in the same second.
    "other connections and hosts": (
        {"a.log": refusals(range(10)), "b.log": refusals(range(10), pid=9), "c.log": 2 * start(9), "d.log": start(9)},
        ["", "", "", ""],
        *([3, 20], []),
    ),
    "a log with a later message": (
        {"a.log": refusals(range(10)), "b.log": refusals(range(5)) + start(10)},
        ["", f"about 100 % {OF_CONNECTIONS} a.log {TWICE}"],
        *([1, 15], []),
    ),
    "the end of an access log, and the container's output": (
        {name: requests(*range(first, 100)) for name, first in (("end.log", 60), ("access.log", 0), ("again.log", 0))},
        [f"its requests are in access.log {ONCE}", "", f"its requests are in access.log {ONCE}"],
        *([], [100]),
    ),
    "access logs that overlap": (
        {
            "a.log": requests(*range(100)),
            "b.log": requests(*range(70, 190)),
            "c.log": requests(*range(170, 400)),
            "d.log": requests(*range(1000, 1100), *range(5)),
        },
        [f"about 30 % of its lines are in b.log {TWICE}", f"about 16.7 % of its lines are in c.log {TWICE}", "", ""],
        *([], [100, 120, 230, 105]),
    ),
    # The monitor sends requests to both hosts in the same seconds, so that their lines are equal.
    "a monitor of two hosts": ({"web1.log": probes(600), "web2.log": probes(600)}, ["", ONE_CLIENT], [], [600, 600]),
    "an error log of a later day": (
        {"access.log": requests(1), "error.log": refusals(range(10))},
        ["", OTHER_TIME],
        *([10], [1]),
    ),
    "an error log of the day before": (
        {"access.log": requests(1), "error.log": refusals(range(10)).replace("11/26", "11/19")},
        ["", OTHER_TIME],
        *([10], [1]),
    ),
    "an error log in another time zone": ({"access.log": requests(1), "error.log": ANY_ZONE}, ["", ""], [10], [1]),
    "a monitor's few requests": ({"web1.log": probes(8), "web2.log": probes(8)}, ["", ONE_CLIENT], [], [8, 8]),
}


@pytest.mark.parametrize(("logs", "warnings", "messages", "kept"), CASES.values(), ids=CASES)
def test_copies_count_once_and_overlaps_are_reported(
    logs: Logs, warnings: Sequence[str], messages: Counts, kept: Counts, tmp_path: Path
) -> None:
    explanation = explained(tmp_path, logs)
    assert [file.warnings for file in explanation.found] == [(each,) if each else () for each in warnings]
    assert sorted(each.number for each in explanation.messages.problems) == messages
    assert [log.content.requests for log in explanation.evidence.access_logs] == kept


def test_equal_lines_without_a_time_are_different_requests(tmp_path: Path) -> None:
    lines = "10.0.0.2|200|0.001|GET / HTTP/1.1\n" * 50
    logs = {"a.log": lines, "b.log": lines}
    explanation = explained(tmp_path, logs, log_formats=("$remote_addr|$status|$request_time|$request",))
    assert [log.content.requests for log in explanation.evidence.access_logs] == [50, 50]


OLD: Final = refusals(range(30)).replace("11/26", "11/19")
LOCAL_TIME: Final = "$remote_addr $status [$time_local] $msec"
UTC_TIME: Final = "$remote_addr $status [$local] $msec"
STARTED: Final = "2026/11/20 09:00:00 [notice] 1#1: start worker processes\n"


@pytest.mark.parametrize("error_log", [OLD, OLD + STARTED], ids=["whole-log", "some-messages"])
def test_an_error_of_another_day_does_not_explain_the_requests(error_log: str, tmp_path: Path) -> None:
    """An error log that was not rotated contains old errors. They are shown, but are not the cause."""
    explanation = explained(tmp_path, {"access.log": requests(*range(40)), "error.log": error_log})
    assert explanation.messages.problems == ()
    assert explanation.diagnosis.found == ()
    assert [each.number for each in explanation.messages.at_other_times] == [30]
    assert headline(explanation.diagnosis, explanation.messages) == (
        "LOGGED at a different time from the requests in the access logs: An upstream refuses connections"
    )
    (shown,) = [row for row in rows(explanation.diagnosis, explanation.messages) if row.label == "Other time"]
    assert shown.text.startswith("An upstream refuses connections: 30 messages, 2026/11/19 09:00:00 to 09:29:00")
    made = to_json(explanation.diagnosis, explanation.messages)
    assert not made["healthy"]
    assert [each["id"] for each in made["messages"]["at_other_times"]] == ["upstream_refused"]
    document(explanation.found, made)


EARLIER: Final = refusals(range(30)).replace("11/26 09", "11/20 02")
NOW: Final = refusals(range(35, 38)).replace("11/26", "11/20")


@pytest.mark.parametrize(
    ("log_format", "now", "number", "earlier"),
    [(LOCAL_TIME, NOW, 3, 30), (UTC_TIME, NOW, 33, 0), (LOCAL_TIME, "", 30, 0)],
    ids=["the-same-zone", "an-unknown-zone", "perhaps-another-zone"],
)
def test_errors_of_earlier_hours_do_not_count_if_the_zone_is_known(
    log_format: str, now: str, number: int, earlier: int, tmp_path: Path
) -> None:
    """If all messages seem earlier, they may be from a zone further west. $msec does not show nginx's zone."""
    lines = "".join(f"10.0.0.2 200 [20/Nov/2026:09:36:16 +0000] 1795167376.{at:03}\n" for at in range(40))
    logs = {"access.log": lines, "error.log": EARLIER + now}
    explanation = explained(tmp_path, logs, log_formats=(log_format,))
    assert sum(each.number for each in explanation.messages.problems) == number
    assert sum(each.number for each in explanation.messages.at_other_times) == earlier
    warned = [text for file in explanation.found for text in file.warnings if "from before their requests" in text]
    assert len(warned) == (log_format == LOCAL_TIME and not now)


def test_an_error_after_the_last_request_may_be_why_there_are_no_more(tmp_path: Path) -> None:
    logs = {"access.log": requests(*range(40)), "error.log": NOW + start(13).replace("11/26", "11/20")}
    messages = explained(tmp_path, logs).messages
    assert "upstream_host_not_found_at_start" in {each.row.id for each in messages.problems}
    assert not messages.at_other_times
