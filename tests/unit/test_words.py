"""Texts for people use one word per thing: README.md, docs/, help, claims, the audit, docstrings, comments, test names.

The rejected words are in the left column of the table in docs/development.md.
"""

import ast
import contextlib
import importlib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from fixtures.options import lab_help
from tests.support.places import CHECKOUT
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.cli.main import COMMANDS, build_parser
from tuneproof.lines import every_line

STYLE: Final = CHECKOUT / "docs" / "development.md"
_TABLE: Final = re.compile(r"^\| not \| but \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
_REMARK: Final = re.compile(r"\(.*?\)")
# Code and addresses are not prose, and HTML comments are not shown.
_NO_PROSE: Final = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`\n]*`|\]\([^)\s]*\)", re.MULTILINE | re.DOTALL)
# The code may use the words of results.json and of the options (docs/glossary.md), and definitions may use "whose".
_OF_THE_CODE: Final = {"arm", "arms", "cell", "cells", "subject", "subjects", "unsupported", "twins", "whose"}
_CODE: Final = ("fixtures", "images", "tests", "tools", "tuneproof")
_NAME: Final = re.compile(r"^ *(?:async )?def test_(\w+)", re.MULTILINE)
# pytest prints the help of these commands.
_PYTESTS: Final = ("run", "test")


def rejected_words(style: str) -> list[str]:
    table = _TABLE.search(style)
    assert table is not None
    cells = [row.split("|")[1] for row in table[1].splitlines()]
    return [word.strip() for cell in cells for word in _REMARK.sub("", cell).split(",")]


def used(text: str, words: list[str]) -> Counter[str]:
    flat = " ".join(text.split())
    lower = flat.lower()
    counts = {
        word: len(re.findall(rf"(?<![\w-]){re.escape(word)}(?![\w-])", flat, re.IGNORECASE))
        for word in words
        if word.lower() in lower
    }
    return Counter({word: count for word, count in counts.items() if count})


def texts() -> Iterator[tuple[str, str]]:
    """Yield the texts for people, each with its name."""
    for page in [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if page == STYLE:
            text = _TABLE.sub("", text)
        yield str(page.relative_to(CHECKOUT)), _NO_PROSE.sub(" ", text)
    helps = "\n".join([build_parser().format_help(), lab_help(), *map(help_of, COMMANDS)])
    yield "help", _NO_PROSE.sub(" ", helps)
    claims = [claim for advice in every_advice() for claim in advice.scenario(RunConditions()).claims]
    yield "claims", "\n".join(part for claim in claims for part in (claim.sentence, claim.why, claim.effect_name))
    yield "audit", "\n".join(concern.why for line in every_line() for concern in line.audit)


def prose_of(source: bytes) -> str:
    """Return the docstrings and the comments of a module."""
    comments = [
        token.string for token in tokenize.tokenize(io.BytesIO(source).readline) if token.type == tokenize.COMMENT
    ]
    strings = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    documented = [node.value for node in strings if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return re.sub(r"(`+)[^`]*\1", " ", "\n".join([*comments, *documented]))


def help_of(command: str) -> str:
    if command in _PYTESTS:
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
        importlib.import_module(f"tuneproof.cli.{command}").main(["--help"])
    return printed.getvalue()


def test_no_text_uses_a_rejected_word() -> None:
    words = rejected_words(STYLE.read_text(encoding="utf-8"))
    found = {name: used(text, words) for name, text in texts()}
    assert {name: counts for name, counts in found.items() if counts} == {}


def test_docstrings_and_comments_use_no_rejected_word() -> None:
    words = [word for word in rejected_words(STYLE.read_text(encoding="utf-8")) if word not in _OF_THE_CODE]
    modules = sorted(path for room in _CODE for path in (CHECKOUT / room).rglob("*.py"))
    found = {}
    for path in modules:
        source = path.read_bytes()
        # Finding the comments takes much longer than checking whether the module contains a rejected word.
        prose = prose_of(source) if used(source.decode(), words) else ""
        found[str(path.relative_to(CHECKOUT))] = used(prose, words)
    assert len(found) > 300
    assert {name: counts for name, counts in found.items() if counts} == {}


def test_names_of_tests_use_no_rejected_word() -> None:
    words = [word for word in rejected_words(STYLE.read_text(encoding="utf-8")) if word not in _OF_THE_CODE]
    found = {
        str(path.relative_to(CHECKOUT)): used(
            ". ".join(_NAME.findall(path.read_text("utf-8"))).replace("_", " "), words
        )
        for path in sorted((CHECKOUT / "tests").rglob("test_*.py"))
    }
    assert len(found) > 300
    assert {name: counts for name, counts in found.items() if counts} == {}


def test_the_prose_of_a_module_is_its_docstrings_and_comments() -> None:
    source = b'"""One."""\nNAME = "two"  # three\n"""Four ``five``."""\n\n\ndef f():\n    "Six."\n    return 7\n'
    assert used(prose_of(source), ["one", "two", "three", "four", "five", "six", "seven"]) == {
        "one": 1,
        "three": 1,
        "four": 1,
        "six": 1,
    }


def test_every_row_of_the_style_page_is_searched_for() -> None:
    words = rejected_words(
        "| not | but |\n|---|---|\n| told, tells (of reports) | reported |\n| a nginx | an nginx |\n\nMore.\n"
    )
    assert words == ["told", "tells", "a nginx"]
    assert len(rejected_words(STYLE.read_text(encoding="utf-8"))) >= 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It tells of a\nnginx. TOLD!", {"told": 1, "tells": 1, "a nginx": 1}),
        ("stellar retold is_told-once data nginx", {}),
    ],
)
def test_only_whole_words_are_found(text: str, expected: dict[str, int]) -> None:
    assert used(text, ["told", "tells", "a nginx"]) == expected
