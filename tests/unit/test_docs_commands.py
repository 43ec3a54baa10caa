"""Every command line in README.md and docs/ has valid options and arguments."""

import argparse
import importlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from tools.docs.__main__ import pages
from tuneproof.catalogue.declared import declared_claims
from tuneproof.cli import engines, main, run, suite

# A command is in a shell block, or between backticks if it has an option. A line continues after a backslash, and ends
# at the shell's next operator.
_CODE: Final = re.compile(r"^```(?:sh|console|bash|yaml)\n(.*?)^```|`([^`\n]+ -[^`\n]+)`", re.DOTALL | re.MULTILINE)
_COMMAND: Final = re.compile(
    r"(?:^|[\s(])(?P<line>(?:\./lab|tuneproof|(?:\.venv/bin/)?python -m tools\.\S+)\s[^|;&\n]*)",
    re.MULTILINE,
)
# A synopsis is not a command: its parts may be optional, repeated, or placeholders.
_SYNOPSIS: Final = re.compile(r"\[|\.\.\.|…|<\w[\w ]*>")
_REDIRECTION: Final = re.compile(r"\s\d?[<>]\s?\S+")
_LEAST: Final = 60
_SELECTED: Final = re.compile(r" -k '?([a-z_ ]+)")


class _ParsedError(Exception):
    """Ends a program as soon as it has accepted its arguments."""


def commands() -> Iterator[tuple[str, str]]:
    for page in pages():
        for block, span in _CODE.findall(page.read_text(encoding="utf-8")):
            for found in _COMMAND.finditer((block or span).replace("\\\n", " ")):
                if not _SYNOPSIS.search(found["line"]):
                    yield page.name, _REDIRECTION.sub("", found["line"]).strip()


@pytest.fixture
def only_parsed(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[None]:
    """Stop each program as soon as its own parser has accepted the arguments."""
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser, arguments: Any = None, namespace: Any = None) -> argparse.Namespace:
        found: argparse.Namespace = parse(self, arguments, namespace)
        if self.prog.endswith("lab"):  # this parser reads only the command's name; the command's own parser is next
            return found
        raise _ParsedError

    def started(_places: Sequence[str], arguments: Sequence[str], **_how: Any) -> NoReturn:
        pytestconfig._parser.parse([word for word in arguments if word not in {"-p", "no:hypothesispytest"}])
        raise _ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    monkeypatch.setattr(suite, "start", started)
    monkeypatch.setattr(suite, "start_each", lambda _parts, arguments: started([], arguments))
    monkeypatch.setattr(engines, "run_on", lambda _engines, arguments: started([], arguments))
    monkeypatch.setattr(run, "environment_of", lambda _engine: nullcontext(dict(os.environ)))
    # pytest's stand-in for stdin has no file descriptor, and `-` as a configuration's name means stdin.
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield


def is_accepted(line: str) -> bool:
    """Return whether the program accepts a command line; otherwise pytest shows the reason."""
    words = shlex.split(line, comments=True)
    program = main.main
    if words[0] in {"./lab", "tuneproof"}:
        words = words[1:]
    else:
        words = words[words.index("-m") + 1 :]
        name, words = words[0], words[1:]
        program = importlib.import_module(
            name if Path(f"{name.replace('.', '/')}.py").is_file() else f"{name}.__main__"
        ).main
    try:
        return program(words) == 0
    except _ParsedError:
        return True
    except SystemExit as left:
        return left.code == 0
    except pytest.UsageError:
        return False


@pytest.mark.usefixtures("only_parsed")
def test_every_command_on_the_pages_is_accepted() -> None:
    """Renamed options and removed commands must not stay on the pages."""
    found = dict.fromkeys(commands())
    assert len(found) >= _LEAST
    assert [(page, line) for page, line in found if not is_accepted(line)] == []


@pytest.mark.usefixtures("only_parsed")
@pytest.mark.parametrize("line", ["./lab runn", "./lab run --nginxx 1.22", "./lab audit --nope x", "./lab compare a"])
def test_an_invalid_command_is_found(line: str) -> None:
    assert not is_accepted(line)


def test_every_name_that_a_command_selects_is_that_of_a_claim_or_scenario() -> None:
    """A renamed claim must not stay on the pages."""
    names = " ".join(f"{claim.scenario}/{claim.claim}" for claim in declared_claims())
    selected = {word for _, line in commands() for each in _SELECTED.findall(line) for word in each.split()}
    assert "reuseport_stall" in selected
    assert [word for word in selected - {"and", "or", "not"} if word not in names] == []
