"""A report's page, parsed strictly."""

from html.parser import HTMLParser
from pathlib import Path

_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """The links, ids, tags and text of a page; AssertionError if elements are not closed in order."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self._open == []
        self.text = "".join(f"{line.strip()}\n" for line in self.text.splitlines() if line.strip())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self._open.append(tag)
        self.tags.add(tag)
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.append(value or "")
            elif name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"{self.path.name}: </{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["script"]:
            self.text += data
