"""Links in README.md and docs/ that lead into this checkout lead to existing files and headings."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
# [text](target) and ![text](target), with or without a title.
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
ELSEWHERE = ("https://", "http://", "mailto:")


def prose(text: str) -> str:
    """Return a page without its code, in which brackets are not links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


@cache
def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives a page's headings.

    Lower case, without punctuation, a hyphen for each space; a repeated heading gets "-1" at its end.
    """
    found: dict[str, int] = {}
    names = set()
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)?$", without_code, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = found.get(name, 0)
        found[name] = number + 1
        names.add(f"{name}-{number}" if number else name)
    return names


def broken(page: Path) -> list[str]:
    nowhere = []
    for link in LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if link.startswith(ELSEWHERE):
            continue
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        leads = target.exists() and (
            not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text(encoding="utf-8")))
        )
        if not leads:
            nowhere.append(link)
    return nowhere


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_no_link_on_a_page_is_broken(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_column_of_a_table_has_a_heading(page: Path) -> None:
    """A screen reader announces the heading of each cell (axe: empty-table-header)."""
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = [line for line, below in pairwise(lines) if re.fullmatch(r"\|[-:| ]+\|", below)]
    assert [line for line in heads if re.search(r"\|\s*\|", line)] == []


@pytest.mark.parametrize(
    "link",
    ["missing.md", "there.md#missing", "#missing", "sub/../missing.png", "there.txt#a-heading"],
)
def test_a_broken_link_is_found(link: str, tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading\n", encoding="utf-8")
    (tmp_path / "there.txt").write_text("# A heading\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\nSee [this]({link}).\n", encoding="utf-8")
    assert broken(page) == [link]


def test_working_links_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.md").write_text("# Tuned, `proof`!\n\n## Twice\n\n## Twice\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n\n[a](there.md) [b](folder) [c](there.md#tuned-proof) [d](there.md#twice-1) [e](#here)\n"
        '[f](https://example.org/#x) ![g](there.md "A title") `[h](code)`\n\n```\n[i](code)\n```\n',
        encoding="utf-8",
    )
    assert broken(page) == []
