"""Lines are those that nginx counts: what other programs take for a line's end, in a comment, moves nothing."""

from typing import Any

import pytest

from tests.support.unified_diffs import applied
from tuneproof.audit import statements
from tuneproof.audit.auditing import audit_source
from tuneproof.audit.patches import diff
from tuneproof.audit.sources import Dump
from tuneproof.audit.statements import parse_file
from tuneproof.audit.texts import lines_of

# Form feed, file separator, next line (an ellipsis of Windows-1252 read as Latin-1), line separator.
NO_ENDS = ("\x0c", "\x1c", "\x85", "\u2028")


@pytest.mark.parametrize("mark", NO_ENDS, ids=ascii)
def test_only_a_line_feed_ends_a_line(mark: str) -> None:
    """With or without a carriage return before it."""
    assert lines_of(f"a{mark}b\r\nc\n\nd") == [f"a{mark}b\r\n", "c\n", "\n", "d"]
    assert lines_of("") == []


@pytest.mark.parametrize("mark", NO_ENDS, ids=ascii)
def test_a_problem_behind_such_a_comment_is_on_its_own_line(mark: str) -> None:
    """As nginx says it."""
    parsed = parse_file("nginx.conf", f"# one{mark}two{mark}three\nuser a;\n}}\npid b;\n")
    assert [(problem.line, problem.message) for problem in parsed.problems] == [(3, 'unexpected "}"')]
    assert [statement.name for statement in parsed.statements] == ["user", "pid"]


@pytest.mark.parametrize("mark", NO_ENDS, ids=ascii)
def test_a_patch_behind_such_a_comment_applies(mark: str) -> None:
    """Its hunks count the same lines as patch(1)."""
    text = (
        f"# one{mark}two\nevents {{ }}\nhttp {{\n  # three{mark}four\n  upstream u {{ server a:1; keepalive 8; }}\n"
        "  server {\n    listen 80;\n    location / {\n      proxy_pass http://u;\n    }\n  }\n}\n"
    )
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.22")
    edits = [edit for one in found.advice if one.name == "upstream_keepalive" for edit in one.edits]
    patch = diff(edits, {"nginx.conf": text})
    after = applied(patch, {"nginx.conf": text})["nginx.conf"]
    assert "proxy_http_version 1.1;" in after
    assert after.count(mark) == text.count(mark)


@pytest.mark.parametrize("text", ["user a;\n\x1cb }\n}\n", "a\x85b } }\n", "a\rb }\n c }\r}\n", "}" * 50])
def test_braces_that_do_not_match_are_answered_with_little_work(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However lines are counted: nothing that is tried is much longer than what was given."""
    tried: list[int] = []
    parse = statements._crossplane

    def counting(candidate: str, *, check_args: bool) -> dict[str, Any]:
        tried.append(len(candidate))
        return parse(candidate, check_args=check_args)

    monkeypatch.setattr(statements, "_crossplane", counting)
    assert parse_file("nginx.conf", text).problems
    assert max(tried) <= len(text) + 10
    assert len(tried) <= 30
