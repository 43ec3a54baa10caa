"""A patch makes its own change, and no other."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.configurations import HEAD
from tests.support.patched_texts import DENSE, INCLUDED, SHARED, SNIPPETS, TEXTS
from tests.support.unified_diffs import applied
from tuneproof.audit.advice import Advised
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.patches import Insert, Replace, apply, diff, unified
from tuneproof.conf.reuse import Reuse
from tuneproof.conf.sources import Dump
from tuneproof.conf.statements import Statement, parse_file
from tuneproof.conf.tree import Block

VERSIONS = ("1.18", "1.22", "1.30")


def audited(files: dict[str, str], version: str) -> Audit:
    return audit_source(Dump(files, is_complete=True), version=version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TEXTS)
def test_each_patch_makes_its_own_change_and_no_other(name: str, version: str) -> None:
    """A patch applies without fuzz, adds no problem, changes no other facts, and is not offered again."""
    files = dict(TEXTS[name])
    before = audited(files, version)
    texts = before.facts.configuration.texts
    for advised in before.advice:
        patch = diff(advised.edits, texts)
        assert bool(patch) <= bool(advised.edits)
        if not patch:
            continue
        changed = apply(advised.edits, texts)
        after_texts = applied(patch, texts)
        assert after_texts == {**texts, **changed}
        after = audited({**files, **after_texts}, version)
        assert set(after.facts.configuration.problems) <= set(before.facts.configuration.problems)
        same_facts(before, after, advised)
        offered_again = [one for one in after.advice if one.edits and same_place(one, advised, before, after)]
        assert offered_again == []
    together = audited({**files, **before.patched()}, version)
    assert together.facts.configuration.problems == before.facts.configuration.problems


def test_no_patch_affects_other_blocks_in_the_same_line_or_file() -> None:
    before = audited(dict(SHARED), "1.22")
    texts = before.facts.configuration.texts
    kept = [one for one in before.advice if one.name == "upstream_keepalive" and one.edits]
    assert {file for one in kept for file in apply(one.edits, texts)} == {"nginx.conf"}
    assert [(one.at.name, one.edits) for one in before.advice if one.name == "proxy_buffering"] == [("proxy_pass", ())]


def test_a_patch_to_a_snippet_applies_to_all_servers_that_include_it() -> None:
    before = audited(dict(SNIPPETS), "1.26")
    [ssl] = [one for one in before.advice if one.claim == "ssl_on_starts"]
    changed = {**SNIPPETS, **apply(ssl.edits, before.facts.configuration.texts)}
    assert "ssl on" not in changed["tls.conf"]
    sockets = audited(changed, "1.26").facts.sockets.found
    encrypted = {one.address.port for one in sockets if "ssl" in one.protocols}
    assert encrypted == {8443, 9443}


def test_an_included_file_is_patched_only_if_the_patch_suits_every_place_that_includes_it() -> None:
    found = audited(dict(INCLUDED), "1.22")
    assert [one.edits for one in found.advice if one.name == "upstream_keepalive"] == [()] * 4
    alike = audited({**INCLUDED, "nginx.conf": INCLUDED["nginx.conf"].replace("proxy_set_header X-A b;", "")}, "1.22")
    assert all(one.edits for one in alike.advice if one.name == "upstream_keepalive")


def same_place(one: Advised, other: Advised, before: Audit, after: Audit) -> bool:
    """Return whether both have the same position among the places of their kind, since line numbers change."""
    if one.name != other.name or one.at.name != other.at.name:
        return False
    return number(one, after) == number(other, before)


def number(advised: Advised, of: Audit) -> int:
    """Return the position of a piece of advice among the places of its kind."""
    if advised.at.name.endswith("_pass"):
        return [proxied.target.statement for proxied in of.facts.proxied].index(advised.at)  # type: ignore[arg-type]
    if isinstance(advised.at, Block):
        return list(of.facts.configuration.main.all(advised.at.name)).index(advised.at)
    return sorted({start(one) for one in of.advice if one.at.name == advised.at.name}).index(start(advised))


def start(advised: Advised) -> int:
    assert advised.at.span is not None
    return advised.at.span.start


def same_facts(before: Audit, after: Audit, advised: Advised) -> None:
    """Require that only the facts that the advice concerns have changed."""
    for old, new in zip(before.facts.proxied, after.facts.proxied, strict=True):
        assert new.target.location == old.target.location
        assert new.is_buffered == (old.is_buffered and advised.name != "streams")
        if advised.name not in {"proxy_buffering", "streams"}:
            assert new.reader_bytes == old.reader_bytes
        if advised.name != "upstream_keepalive":
            assert new.reuse.reuse == old.reuse.reuse
        elif new.reuse.reuse != old.reuse.reuse:
            assert new.reuse.reuse is Reuse.YES
        if advised.name == "upstream_keepalive" and old.target.statement is advised.at:
            assert new.reuse.reuse is Reuse.YES, new.reuse.why
        if advised.name == "proxy_buffering" and old.target.statement is advised.at:
            assert new.reader_bytes is not None
            assert old.reader_bytes is not None
            assert new.reader_bytes < old.reader_bytes
    assert len(after.facts.servers) == len(before.facts.servers)
    assert [server.names for server in after.facts.servers] == [server.names for server in before.facts.servers]


def test_a_patch_keeps_comments_and_layout() -> None:
    files = dict(DENSE.files)
    before = audited(files, "1.22")
    edits = [edit for one in before.advice if one.name == "upstream_keepalive" for edit in one.edits]
    changed = apply(edits, files)
    lines = changed["nginx.conf"].splitlines()
    assert "        '' ''; # bad" in lines
    assert "    upstream one { keepalive_timeout 4s; server a:1; keepalive 32; }   # one line" in lines
    assert "\tserver b:2; # last" in lines
    assert lines[lines.index("\tserver b:2; # last") + 1] == "\tkeepalive 32;"
    assert "            proxy_pass http://10_0_0_1_81/x; # behind" in lines
    gone = [line for line in files["nginx.conf"].splitlines() if line not in lines]
    assert len(gone) == 6, gone
    # An edit that several places share is made only once.
    assert diff(edits, files).count("+    upstream 10_0_0_1_81 {") == 1


def test_neighbouring_changes_are_shown_together() -> None:
    """Both old lines come first, then both new ones, as in diff(1); white space within a line stays."""
    files = {"nginx.conf": f"{HEAD}http {{\n server {{\n  listen\t  80   default_server ;\n  listen 81;\n }}\n}}\n"}
    edits = [edit for one in audited(files, "1.30").advice if one.name == "listen_queue" for edit in one.edits]
    assert [line for line in diff(edits, files).splitlines()[2:] if line[0] in "+-"] == [
        "-  listen\t  80   default_server ;",
        "-  listen 81;",
        "+  listen\t  80   default_server backlog=4096;",
        "+  listen 81 backlog=4096;",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("directive", "left"),
    [
        ("    multi_accept on;   # accept all connections", ""),
        ("    multi_accept on;", ""),
        ("    multi_accept on; worker_connections 9; # both", "     worker_connections 9; # both\n"),
        ("    # accept all connections\n    multi_accept on;", "    # accept all connections\n"),
    ],
    ids=["comment after", "alone", "another directive", "comment before"],
)
def test_a_comment_after_a_directive_is_removed_with_the_directive(directive: str, left: str, newline: str) -> None:
    """The comment would refer to nothing. Comments on other lines stay, and so do comments after several directives."""
    main = "worker_processes 2;\n"
    text = f"{main}events {{\n{directive}\n}}\n".replace("\n", newline)
    edits = [edit for one in audited({"nginx.conf": text}, "1.30").advice for edit in one.edits]
    assert apply(edits, {"nginx.conf": text}) == {"nginx.conf": f"{main}events {{\n{left}}}\n".replace("\n", newline)}
    at_the_end = {"nginx.conf": "events { }\n tcp_nodelay on; # x"}
    edits = [edit for one in audited(at_the_end, "1.30").advice for edit in one.edits]
    assert apply(edits, at_the_end) == {"nginx.conf": "events { }\n"}


def test_new_lines_end_like_the_other_lines_of_the_file() -> None:
    patched = audited(dict(TEXTS["dense-crlf"]), "1.22").patched()["nginx.conf"]
    assert patched.count("\r\n") > TEXTS["dense-crlf"]["nginx.conf"].count("\r\n")
    assert "\n" not in patched.replace("\r\n", "")


Tree = list[tuple[str, Any]]  # a directive with its arguments, and the content of its block, or None
DIRECTIVES = st.tuples(st.sampled_from(["a 1", "b 'x y'", "c"]), st.none())
TREES = st.recursive(
    st.lists(DIRECTIVES, min_size=1, max_size=3),
    lambda inner: st.lists(DIRECTIVES | st.tuples(st.just("location /"), inner), min_size=1, max_size=3),
    max_leaves=6,
)
GAPS = st.sampled_from([" ", " ", "\n", "\n    ", "\n\t", "  # {remark;\n  ", "\n# a } and a {\n", "\n\n"])


def text_of(tree: Tree, gap: Callable[[], str]) -> str:
    """Return directives in a layout that a user may have."""
    parts = []
    for line, inner in tree:
        parts += [gap(), line, ";" if inner is None else f" {{{text_of(inner, gap)}}}"]
    return "".join([*parts, gap()])


def tree_of(statements: Sequence[Statement]) -> Tree:
    return [
        (" ".join((each.name, *each.args)), None if each.block is None else tree_of(each.block)) for each in statements
    ]


def everything(statements: Sequence[Statement]) -> list[Statement]:
    return [each for one in statements for each in (one, *everything(one.block or ()))]


def edited(statements: Sequence[Statement], at: Statement, edit: Insert | Replace) -> Tree:
    """Return the expected directives after an edit, without their layout."""
    tree: Tree = []
    for each in statements:
        inner = None if each.block is None else edited(each.block, at, edit)
        own = (" ".join((each.name, *each.args)), inner)
        if each is not at:
            tree.append(own)
        elif isinstance(edit, Insert):
            tree += [own, ("new", None)] if inner is None else [(own[0], [("new", None), *inner])]
        elif edit.text:
            tree.append(("new", None))
    return tree


@settings(max_examples=80, database=None, derandomize=True, deadline=None)
@given(st.data())
def test_an_edit_changes_only_its_directive_in_any_layout(data: st.DataObject) -> None:
    """Layouts have several directives on a line, comments with braces, CRLF, or no newline at the end."""
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = text_of(data.draw(TREES), lambda: data.draw(GAPS)).replace("\n", newline)
    read = parse_file("a.conf", text).statements
    if not (all_of := everything(read)):
        return
    at = data.draw(st.sampled_from(all_of))
    edits: list[Insert | Replace] = [
        Insert(after=at, text="new;"),
        Replace(old=at, text=""),
        Replace(old=at, text="new;"),
    ]
    edit = data.draw(st.sampled_from(edits if at.block is None else edits[:1]))
    after = apply([edit], {"a.conf": text})["a.conf"]
    assert tree_of(parse_file("a.conf", after).statements) == edited(read, at, edit)
    assert applied(diff([edit], {"a.conf": text}), {"a.conf": text}) == {"a.conf": after}
    assert after.count("#") == text.count("#") or (isinstance(edit, Replace) and not edit.text)


def test_additions_to_one_place_keep_their_order() -> None:
    (at,) = parse_file("a.conf", "a;").statements
    assert apply([Insert(after=at, text="c;"), Insert(after=at, text="b;")], {"a.conf": "a;"}) == {
        "a.conf": "a;\nc;\nb;"
    }
    _, second = parse_file("a.conf", "a; b;").statements
    assert apply([Insert(after=second, text="c;")], {"a.conf": "a; b;"}) == {"a.conf": "a; b; c;"}


def test_the_diff_of_a_new_block_begins_with_the_first_line_of_the_block() -> None:
    block = "a {\n}\n"
    before = "".join([block, *["x;\n"] * 9, block])
    after = "".join([block, block.replace("a", "b"), *["x;\n"] * 9, block, block.replace("a", "c")])
    hunks = unified({"a": before}, {"a": after}).split("@@")
    assert [hunk for hunk in hunks if "+" in hunk and "{" in hunk] == [
        "\n a {\n }\n+b {\n+}\n x;\n x;\n x;\n",
        "\n x;\n a {\n }\n+c {\n+}\n",
    ]
    assert unified({"a": "x;\n"}, {"a": "y;\n"}).splitlines()[2] == "@@ -1 +1 @@"


@settings(max_examples=40, database=None, derandomize=True)
@given(st.sets(st.integers(0, 39), max_size=6))
def test_a_diff_of_near_and_distant_changes_applies_without_fuzz(changed: set[int]) -> None:
    before = "".join(f"{number}\n" for number in range(40))
    after = "".join("new\n" if number in changed else f"{number}\n" for number in range(40))
    assert applied(unified({"a": before}, {"a": after}), {"a": before}) == {"a": after}
