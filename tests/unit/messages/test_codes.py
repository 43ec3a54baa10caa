"""The number in a message selects the clauses of its row that apply."""

import pytest

from tuneproof.messages.codes import code_of, coded, only_about
from tuneproof.messages.rows import messages


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('open() "/a" failed (13: Permission denied)', "13"),
        ("client SSL certificate verify error: (21:unable to verify the first certificate)", "21"),
        ("SSL_do_handshake() failed (SSL: error:0A000410:SSL routines::alert:SSL alert number 40) while", "40"),
        ("worker process 7 exited on signal 11 (core dumped)", "11"),
        ("upstream sent goaway with error 11 while", "11"),
        ("upstream sent too big header", ""),
    ],
)
def test_a_messages_code_is_the_number_of_its_reason(message: str, code: str) -> None:
    assert code_of(message) == code


WHY = "A rule. 2: the folder is missing. 18 to 21: a chain; see there. 7 (refused) and 9: nginx is not allowed."


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["2"], "A rule. The folder is missing."),
        (["20"], "A rule. A chain; see there."),
        (["9"], "A rule. nginx is not allowed."),
        (["2", "9"], "A rule. 2: the folder is missing. 7 (refused) and 9: nginx is not allowed."),
        (["99"], "A rule."),
    ],
)
def test_clauses_about_other_numbers_are_left_out(codes: list[str], expected: str) -> None:
    assert only_about(WHY, codes) == expected


def test_if_nothing_would_be_left_the_whole_text_is_kept() -> None:
    assert only_about("2: missing. 13: denied.", ["99"]) == "2: missing. 13: denied."
    for row in coded():
        why = messages()[row].why
        for number in range(200):
            assert only_about(why, [str(number)])
