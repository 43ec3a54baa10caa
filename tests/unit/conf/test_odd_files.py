"""Odd files do not end in a crash: unusual line endings, braces, recursive includes, deep nesting, huge numbers."""

import cProfile
from pathlib import Path

import pytest

from tests.support.unified_diffs import applied
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.patches import diff
from tuneproof.conf import statements
from tuneproof.conf.file_text import lines_of
from tuneproof.conf.sources import Dump, Files
from tuneproof.conf.statements import parse_file
from tuneproof.conf.values import nginx_size, size_bytes, time_ms, whole_number
from tuneproof.errors import BadInputError

# Form feed, file separator, next line (an ellipsis of Windows-1252 converted as Latin-1), line separator.
NO_ENDS = ("\x0c", "\x1c", "\x85", "\u2028")


@pytest.mark.parametrize("mark", NO_ENDS, ids=ascii)
def test_only_a_line_feed_ends_a_line(mark: str) -> None:
    """A problem after such a character has the right line number, and patch(1) accepts the line numbers of a patch."""
    assert lines_of(f"a{mark}b\r\nc\n\nd") == [f"a{mark}b\r\n", "c\n", "\n", "d"]
    assert lines_of("") == []
    # nginx prints the same message.
    parsed = parse_file("nginx.conf", f"# one{mark}two{mark}three\nuser a;\n}}\npid b;\n")
    assert [(problem.line, problem.message) for problem in parsed.problems] == [(3, 'unexpected "}"')]
    assert [statement.name for statement in parsed.statements] == ["user", "pid"]
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


@pytest.mark.parametrize("text", ["user a;\n\x1cb }\n}\n", "a\x85b } }\n", "a\rb }\n c }\r}\n", "}" * 100_000])
def test_unbalanced_braces_are_reported_as_a_few_problems(text: str) -> None:
    problems = parse_file("nginx.conf", text).problems
    assert 0 < len(problems) <= 20
    assert {problem.line for problem in problems} <= {1, 2, 3}


def audited(text: str) -> Audit:
    return audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.22")


def test_a_file_that_includes_itself_several_times_is_read_once() -> None:
    """If the file were read for each include, the work would grow exponentially."""
    found = audited("events { }\n" + "include *.conf;\n" * 12 + "http { server { listen 80; } }\n")
    assert len(found.facts.servers) == 1
    loops = [problem for problem in found.facts.configuration.problems if "leads to itself" in problem.message]
    assert [problem.line for problem in loops] == list(range(2, 14))


def test_deeply_nested_blocks_are_rejected() -> None:
    with pytest.raises(BadInputError, match="more than 100 nested blocks"):
        audited("http { " * 3000 + "}" * 3000)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 5000, "\u0663"], ids=["beyond-64-bits", "5000-digits", "arabic"])
def test_a_number_that_nginx_cannot_read_is_unknown(number: str) -> None:
    """Such a number leads neither to a guess nor to an exception."""
    assert (whole_number(number), size_bytes(f"{number}k")) == (None, None)
    assert (whole_number("65536"), size_bytes("8K")) == (65536, 8192)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("90", 90_000),
        ("2s", 2000),
        ("500ms", 500),
        ("1m", 60_000),
        ("1h30m", 5_400_000),
        ("1m 30s 5ms", 90_005),
        ("1M", 2_592_000_000),
        ("1y2w3d", 382 * 86_400_000),
        ("", None),
        ("s", None),
        ("30s1m", None),
        ("1m1m", None),
        ("1 30s", None),
        ("1x", None),
        ("$time", None),
        ("9" * 19, None),
    ],
)
def test_times_are_read_as_nginx_reads_them(text: str, milliseconds: int | None) -> None:
    assert time_ms(text) == milliseconds


def test_sizes_are_read_and_written_in_nginxs_units() -> None:
    """A unit that would leave a fraction is not used."""
    assert [size_bytes(text) for text in ("5", "5K", "5m", "5G", "5t", "-5", "")] == [
        5, 5 << 10, 5 << 20, 5 << 30, None, None, None
    ]  # fmt: skip
    assert [nginx_size(number) for number in (1023, 1024, 1536, 3 << 20)] == ["1023", "1k", "1536", "3m"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("a" * 4095, ""),
        ("\u00fc" * 2047, ""),
        ("a" * 4096, 'too long parameter "aaaaaaaaaa..." started'),
        ("\u00fc" * 2048, 'too long parameter "' + "\u00fc" * 10 + '..." started'),
        ("'" + "a" * 4095 + "'", 'too long parameter, probably missing terminating "\'" character'),
    ],
    ids=["fits", "fits in bytes", "a byte too long", "bytes too long", "quoted"],
)
def test_a_word_must_fit_into_nginxs_buffer(word: str, message: str) -> None:
    """NGX_CONF_BUFFER is 4096 bytes. Only the first longer word is reported, shortened, because nginx stops there."""
    parsed = parse_file("nginx.conf", f"pid a;\nuser {word} {word};\n")
    assert [(one.line, one.message) for one in parsed.problems] == ([(2, message)] if message else [])
    assert max(len(arg.encode()) for arg in parsed.statements[-1].args) <= 2 * 4095


def test_a_file_that_is_not_a_configuration_is_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops after a thousand problems, or a million words (here ten thousand)."""
    assert len(parse_file("nginx.conf", "events { ;" + ";" * 100_000).problems) == 1000
    assert statements._MOST_WORDS == 1_000_000
    monkeypatch.setattr(statements, "_MOST_WORDS", 10_000)
    assert parse_file("nginx.conf", f"{'a ' * 9_999};").problems == ()
    with pytest.raises(BadInputError, match="more than 10000 words"):
        parse_file("nginx.conf", "a " * 10_001)


def test_a_pattern_with_many_folders_matches_nothing(tmp_path: Path) -> None:
    """Python's glob recurses once per folder, and would exceed the recursion limit."""
    (tmp_path / "nginx.conf").touch()
    assert list(Files([tmp_path / "nginx.conf"]).included("*/" * 1500)) == []


HTTP = "events {{ }} http {{ {} }}"
SERVER = "events {{ }} http {{ server {{ listen 80; {} }} }}"


@pytest.mark.parametrize(
    ("around", "repeated", "at_most"),
    [
        (HTTP, "server {{ listen 80; server_name a{0}; location / {{ proxy_pass http://a{0}; }} }}", 2.5),
        (HTTP, "server {{ listen 80; server_name same; location / {{ return 200; }} }}", 2.5),
        (HTTP, "server {{ listen 1{0:04}; location /a {{ proxy_pass http://a{0}; }} }}", 2.5),
        (HTTP, "upstream u{0} {{ server a; }} server {{ listen 80; location / {{ proxy_pass http://u{0}; }} }}", 2.5),
        (SERVER, "location /{0} {{ proxy_pass http://a; }}", 2.5),
        (SERVER, "location ~ /{0} {{ proxy_pass http://a; }}", 3),
    ],
    ids=["names", "one name", "ports", "upstreams", "prefixes", "regexes"],
)
def test_twice_as_many_servers_or_locations_take_about_twice_the_work(
    around: str, repeated: str, at_most: float
) -> None:
    """Hosting companies have thousands of servers. The number of function calls does not depend on the machine."""
    few, many = (calls_of(around.format("".join(map(repeated.format, range(number))))) for number in (80, 160))
    assert many < at_most * few


def calls_of(text: str) -> int:
    """Return how many function calls an audit for one version makes; an audit beforehand fills the tables' caches."""
    audited("events { } http { server { listen 80; } }")
    profile = cProfile.Profile(builtins=False)
    profile.runcall(audited, text)
    return sum(function.callcount for function in profile.getstats())
