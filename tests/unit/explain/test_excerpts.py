"""Excerpts from error logs, as people paste them: explain names the message, with its count and its remedy.

The lines are from tests/captures/error_logs, which four versions of nginx wrote in the lab. The row of each message in
tests/tables/excerpts.tsv was assigned by hand.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT
from tests.support.printed_logs import PRINTED
from tests.support.tables import table
from tuneproof.explain.diagnosis.render import headline, rows
from tuneproof.explain.explanation import Explanation, explain
from tuneproof.explain.opening import Source
from tuneproof.messages.rows import Problem, messages

LOGS: Final = CHECKOUT / "tests" / "captures" / "error_logs"
SEEDS: Final = 2
# Part of a message, and its row. An excerpt repeats the first line with these words from one version of nginx.
TRUTH: Final = {words.replace("$", "\n"): row for words, row in table("excerpts")}
UNRELATED: Final = (
    '10.0.0.2 - - [26/Nov/2026:09:00:01 +0000] "GET /a HTTP/1.1" 200 612 "-" "curl/8.5.0"',
    "2026/11/26 09:00:00 [notice] 1#1: start worker process 29",
    "2026/11/26 09:00:00 [info] 29#29: *7 client 10.0.0.2 closed keepalive connection",
    "PHP message: #3 /srv/a.php(12): run()",
    "/docker-entrypoint.sh: Configuration complete; ready for start up",
    "",
)


def lines_with(words: str) -> list[str]:
    """Return the first log line with these words from each version that wrote one."""
    found = []
    for folder in sorted(LOGS.iterdir()):
        lines = [line for path in sorted(folder.glob("*.log")) for line in path.read_text(errors="replace").split("\n")]
        found += [line for line in lines if words in f"{line}\n" and line[:2] in {"20", "ng"}][:1]
    return found


def excerpts() -> Iterator[tuple[str, str, str, int]]:
    """Yield the words, row, program and seed for each excerpt."""
    for number, (words, row) in enumerate(TRUTH.items()):
        draw = random.Random(number)  # noqa: S311 - not secret
        for seed, program in enumerate(draw.sample(sorted(PRINTED), SEEDS)):
            yield words, row, program, seed


CASES: Final = list(excerpts())


def excerpt(words: str, row: str, program: str, seed: int) -> tuple[str, int]:
    """Return an excerpt as a program prints it, and how many of its messages belong to the row."""
    draw = random.Random(f"{words} {seed}")  # noqa: S311 - not secret
    number = draw.randint(1, 9)
    line = draw.choice(lines_with(words))
    around = draw.choices(UNRELATED, k=draw.randint(0, 8))
    lines = [PRINTED[program](line)] * number + around
    draw.shuffle(lines)
    if row == "client_closed_keepalive":
        number += sum(words in each for each in around)
    return "\n".join(lines), number


def explained(text: str, folder: Path) -> Explanation:
    path = folder / "excerpt"
    path.write_text(text, encoding="utf-8")
    return explain([Source(name="excerpt", path=path)])


def test_there_are_enough_excerpts_and_each_is_from_a_recorded_line() -> None:
    assert len(CASES) >= 140
    assert [words for words in TRUTH if not lines_with(words)] == []


@pytest.mark.parametrize(("words", "row", "program", "seed"), CASES)
def test_an_excerpt_gets_its_row_count_and_remedy(
    words: str, row: str, program: str, seed: int, tmp_path: Path
) -> None:
    """The headline reports a problem as found, but not a possible one. The remedies of both are shown below it."""
    text, number = excerpt(words, row, program, seed)
    explanation = explained(text, tmp_path)
    reported = explanation.messages
    finding = next(each for each in (*reported.problems, *reported.looks, *reported.ordinary) if each.row.id == row)
    assert finding.number == number
    problem = messages()[row].problem
    screen = [line.text for line in rows(explanation.diagnosis, reported)]
    if problem is Problem.YES:
        assert headline(explanation.diagnosis, reported) == f"FOUND: {messages()[row].name}"
        assert any(shown.startswith(finding.row.first) for shown in screen)
    else:
        assert not headline(explanation.diagnosis, reported).startswith(("FOUND", "LIKELY", "POSSIBLE"))
        if problem is Problem.SOMETIMES:
            assert any(messages()[row].first in shown for shown in screen)


@pytest.mark.parametrize("quote", ["{}", "> {}", '"{}"', "- `{}`"])
def test_a_quoted_message_without_time_and_level_is_recognised(quote: str, tmp_path: Path) -> None:
    """A message inside a sentence is not recognised."""
    for words, row in (("recv() failed (104", "upstream_reset"), ("upstream sent too big", "upstream_too_big_header")):
        message = lines_with(words)[0].partition(": *1 ")[2]
        reported = explained(f"We see this since Monday:\n\n{quote.format(message)}\n", tmp_path).messages
        assert [(each.row.id, each.number, each.first) for each in reported.problems] == [(row, 1, "")]
        assert explained(f"We see that {message}\n", tmp_path).messages.all_messages == 0


@pytest.mark.parametrize(
    "before",
    ["2026/11/26 09:00:01 [error] 7#7: *1 ", " [error] 7#7: *1 ", "[error] 7#7: "],
    ids=["whole", "no time", "no connection"],
)
def test_a_message_may_lack_its_time_and_contain_line_breaks(before: str, tmp_path: Path) -> None:
    """The message ends with its host; the access log line after it is not part of it."""
    message = lines_with("recv() failed (104")[0].partition(": *1 ")[2]
    first, rest = message.split(" while ")
    wrapped = f"{before}{first}\nwhile " + rest.replace(' HTTP/1.1"', '\nHTTP/1.1"').replace(", host", ",\nhost")
    reported = explained(f"{wrapped}\n{UNRELATED[0]}\n{wrapped}\n", tmp_path)
    (finding,) = reported.messages.problems
    assert (finding.row.id, finding.number) == ("upstream_reset", 2)
    assert list(finding.requests) == ["GET /"]
    assert len(finding.upstreams) == 1
    assert reported.messages.unknown == 0


@pytest.mark.parametrize("before", ["`", " * ", "- `", "> "])
def test_a_log_line_in_a_list_or_as_code_keeps_its_level(before: str, tmp_path: Path) -> None:
    line = (
        '[error] 54#54: *5 FastCGI sent in stderr: "PHP message: PHP Warning:  mkdir(): Permission denied in /srv/a '
        'on line 7" while reading response header from upstream, client: 10.0.0.2, upstream: "fastcgi://127.0.0.1:9000"'
    )
    explanation = explained(f"{before}{line}\n", tmp_path)
    assert [log.content.levels for log in explanation.evidence.error_logs] == [{"error": 1}]
    assert [each.row.id for each in explanation.messages.looks] == ["php_warning"]


@pytest.mark.parametrize("at", [" (SSL:", " while ", " SSL handshaking"])
def test_a_line_break_may_precede_the_reason_or_the_action_or_be_within_the_action(at: str, tmp_path: Path) -> None:
    line = (
        "2026/11/26 09:00:01 [error] 7#7: *1 SSL_do_handshake() failed (SSL: error:0A00010B:SSL routines::"
        "wrong version number) while SSL handshaking to upstream, client: 10.0.0.2"
    )
    reported = explained(line.replace(at, f" \n{at.lstrip()}", 1) + f"\n{UNRELATED[0]}\n", tmp_path).messages
    assert [(each.row.id, list(each.clients)) for each in reported.problems] == [("upstream_tls_plain", ["10.0.0.2"])]


def test_a_quoted_message_may_contain_a_line_break_or_a_process_number(tmp_path: Path) -> None:
    text = "connect() to 10.0.0.5:80 failed (99: Address not available)\n  while connecting to upstream\n"
    text += "*7 recv() failed (104: Connection reset by peer) while reading\nresponse header from upstream\n"
    reported = explained(
        f'{text}\n"7#7: *9 upstream sent too big header while reading response header from upstream, client: ::1\n',
        tmp_path,
    )
    found = {each.row.id: each.number for each in reported.messages.problems}
    assert found == {"upstream_no_port": 1, "upstream_reset": 1, "upstream_too_big_header": 1}


def test_unknown_messages_are_shown_once_each(tmp_path: Path) -> None:
    """Messages that differ only in their connection and client are the same."""
    lines = [
        f"2026/11/26 09:00:01 [error] 7#7: *{number} a module's {what} words, client: 10.0.0.{number}\n"
        for number in range(9)
        for what in ("own", "other")
    ]
    reported = explained("".join(lines), tmp_path).messages
    assert reported.unknown == len(lines)
    assert [each.partition(",")[0] for each in reported.unknown_examples] == [
        "a module's own words",
        "a module's other words",
    ]


def test_ten_thousand_lines_of_a_healthy_log_show_no_problem(tmp_path: Path) -> None:
    """Many messages of nginx are about ordinary events, such as reloads and clients that leave."""
    healthy = [words for words, row in TRUTH.items() if messages()[row].problem is Problem.NO]
    lines = [line for words in healthy for line in lines_with(words) if "[emerg]" not in line and line[:2] == "20"]
    draw = random.Random(7)  # noqa: S311 - not secret
    explanation = explained("\n".join(draw.choices([*lines, *UNRELATED[1:3]], k=10_000)), tmp_path)
    assert explanation.messages.all_messages == 10_000
    assert explanation.messages.problems == explanation.messages.looks == ()
    assert (
        headline(explanation.diagnosis, explanation.messages)
        == "No problem in these messages: all of them are ordinary."
    )
