"""What people paste or remember leads to the row."""

import pytest

from tuneproof.messages.lookup import MOST, find
from tuneproof.messages.render import lines
from tuneproof.messages.rows import messages


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("no live upstreams while connecting to upstream", "no_live_upstreams"),
        ("no live upstreams", "no_live_upstreams"),
        ("Too Big Header", "upstream_too_big_header"),
        ("upstream_no_port", "upstream_no_port"),
        ("2026/11/26 09:00:01 [error] 1#1: *7 access forbidden by rule, client: 10.0.0.9", "forbidden_by_rule"),
        ('Nov 26 09:00:01 web nginx[7]: nginx: [emerg] unknown directive "foo" in /etc/a.conf:3', "unknown_directive"),
        ("worker process 12 exited on signal 9", "worker_killed_9"),
    ],
)
def test_one_row_is_meant(text: str, row: str) -> None:
    assert [found.id for found in find(text)] == [row]


def test_words_of_several_rows_name_them_all() -> None:
    found = [row.id for row in find("too many open files")]
    assert {"files_accept", "files_upstream", "files_open"} <= set(found)
    assert len(find("upstream")) == MOST


@pytest.mark.parametrize("text", ["", "xyz", "the sky is blue today"])
def test_other_words_are_nobodys(text: str) -> None:
    assert find(text) == ()


def test_a_row_is_shown_with_the_versions_of_its_words() -> None:
    shown = list(lines(messages()["upstream_too_big_trailers"]))
    assert shown[:2] == [
        ("Message", messages()["upstream_too_big_trailers"].name),
        ("Words", "upstream sent too big trailers (since 1.27.2)"),
    ]
    labels = [label for label, _ in lines(messages()["upstream_refused"]) if label]
    assert labels == [
        *("Message", "Words", "Level", "Problem", "What", "Why", "Affects", "Next", "Not so", "Not so", "Confirm"),
        "Page",
    ]
