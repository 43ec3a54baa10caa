"""Every nginx snippet in the documentation passes the project's own audit, except for deliberately bad examples."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.findings import states_of
from tuneproof.conf.sources import Dump

ROOT: Final = Path(__file__).parents[2]
_SNIPPET: Final = re.compile(r"^( *)```nginx\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
# Pages with a bad example that is followed by its audit, each with a part of the example's text.
NOT_TO_COPY: Final[Mapping[str, str]] = {
    "README.md": "server 10.0.0.5:3000;\n    keepalive 32;",
    "copied-nginx-conf.md": "multi_accept on;",
}


def snippets() -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for found in _SNIPPET.finditer(page.read_text(encoding="utf-8")):
            yield page.name, found[2]


def audited(text: str) -> Audit:
    return audit_source(Dump({"snippet.conf": text}, is_complete=False))


def faults(found: Audit) -> list[Advised]:
    """Return the findings that the documentation should not cause."""
    failing = states_of("harmful,without-effect")
    return [one for one in found.advice if one.state in failing or (one.breaks and one.state is not State.CANNOT_TELL)]


def is_not_to_copy(page: str, text: str) -> bool:
    return page in NOT_TO_COPY and NOT_TO_COPY[page] in text


@pytest.mark.parametrize(("page", "text"), [one for one in snippets() if not is_not_to_copy(*one)])
def test_a_snippet_passes_the_audit(page: str, text: str) -> None:
    found = audited(text)
    assert found.facts.configuration.problems == (), page
    assert faults(found) == [], page


@pytest.mark.parametrize("page", NOT_TO_COPY)
def test_a_bad_snippet_is_found(page: str) -> None:
    [text] = [text for name, text in snippets() if name == page and is_not_to_copy(name, text)]
    assert faults(audited(text)) != []
