"""docs/error-log.md, from the rows and the verdicts in the scenario error_messages, if there are any."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tuneproof.messages.patterns import GLIBC_WORDS
from tuneproof.messages.render import shown
from tuneproof.messages.rows import FILES, Message, Problem, depends_on, messages

SCENARIO: Final = "error_messages"
_WIDTH: Final = 120
# This limits the index, since a row may have dozens of wordings.
_MOST_WORDS: Final = 6
_AREAS: Final = {
    "upstream": "Upstreams",
    "client": "Clients and their requests",
    "resources": "Resources and processes",
    "start": "Start, reload and nginx -t",
    "stream": "stream and mail",
    "applications": "Lua, njs and other modules",
    "backends": "PHP-FPM, gunicorn and uWSGI",
    "kernel": "Kernel, systemd and Kubernetes",
}
_HEAD: Final = """\
# The error log, message by message

**Paste the lines into `./lab explain`, and it answers with the message:** how often, since when, for which upstream,
client or URI, what to do first, and what not to do. For one message, run `./lab why` with its words.

```sh
./lab explain < error.log
journalctl -u nginx | ./lab explain
./lab why 'no live upstreams while connecting to upstream'
```

This page is made from the same rows ({number} of them, tuneproof/messages/*.toml) by `python -m tools.messages`. An
ellipsis stands for text that varies. Numbers in brackets, such as 111, are Linux's, with glibc's wording; `explain` and
`why` also know that of musl (Alpine's images), the BSDs and Windows:

| musl, BSDs, Windows | on this page |
|---|---|
{words}
"""


def page(verdicts: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page.

    ``verdicts``: the verdict on each version of nginx, by claim.
    """
    rows = messages().values()
    words = "\n".join(f"| {other} | {ours} |" for other, ours in GLIBC_WORDS.items())
    parts = [_HEAD.format(number=len(rows), words=words), "## Index by words\n", _index(rows)]
    for area in FILES:
        parts.append(f"## {_AREAS[area]}\n")
        parts.extend(_entry(row, verdicts) for row in rows if row.area == area)
    return "\n".join(parts)


def verdicts_of(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the scenario's verdicts by claim and version."""
    found: dict[str, dict[str, str]] = {}
    for cell in cells:
        if cell["scenario"] == SCENARIO:
            name = str(cell["id"]).split("/", 1)[1].split("-", 1)[0]
            found.setdefault(name, {})[cell["nginx"]] = cell["verdict"]
    return found


def _index(rows: Iterable[Message]) -> str:
    lines = ["| words | answer | a problem? |", "|---|---|---|"]
    pairs = [(shown(words), row) for row in rows for words in row.words[:_MOST_WORDS]]
    for words, row in sorted(pairs, key=lambda each: re.sub(r"\W", "", each[0]).lower()):
        cell = words.replace("|", "\\|")
        lines.append(f"| `{cell}` | [{row.name}](#{_anchor(row.name)}) | {row.problem.value} |")
    return "\n".join(lines) + "\n"


def _anchor(name: str) -> str:
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def _entry(row: Message, verdicts: Mapping[str, Mapping[str, str]]) -> str:
    words = "\n".join(shown(each) for each in row.words)
    parts = [f"### {row.name}\n", f"```text\n{words}\n```\n"]
    parts.extend(f"{_wrapped(text)}\n" for text in _paragraphs(row))
    if row.wrong:
        parts.append("Often recommended, and wrong:\n")
        parts.append("\n".join(_item(f"{_code(wrong.advice)}: {_code(wrong.because)}.") for wrong in row.wrong) + "\n")
    if measured := "\n".join(_verdicts(row, verdicts)):
        parts.append(f"{measured}\n")
    return "\n".join(parts)


def _paragraphs(row: Message) -> Iterator[str]:
    problem = {
        Problem.YES: "",
        Problem.SOMETIMES: f" Whether it is a problem depends on {depends_on(row)}.",
        Problem.NO: " It is not a problem.",
    }[row.problem]
    yield f"**{_code(row.happened)}** {_code(row.why)}{problem}"
    yield f"**First:** {_code(row.first)}"
    for place, own in (("stream", row.in_stream), ("mail", row.in_mail)):
        if own is not None and own.first != row.first:
            yield f"**In {place}:** {_code(own.first)}"
    yield f"Affects: {_code(row.affects)}. To confirm: {_code(row.confirm)}"
    if row.levels:
        page_ = f" Measured: [docs/{row.page}]({row.page})." if row.page else ""
        yield f"Level: {', '.join(row.levels)}.{page_}"
    elif row.page:
        yield f"Measured: [docs/{row.page}]({row.page})."
    yield f"In the lab: {_code(row.provoke)}." if row.provoke else f"Not provoked in the lab: {_code(row.unprovoked)}."


def _verdicts(row: Message, verdicts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for claim, by_version in verdicts.items():
        if claim == f"{row.id}_appears" or claim.endswith(f"_ends_{row.id}"):
            results = ", ".join(f"{version} {verdict}" for version, verdict in sorted(by_version.items()))
            yield f"- `{claim}`: {results}"


def _code(text: str) -> str:
    """Escape Markdown's markup, since directives' names contain underscores, and shell commands contain asterisks."""
    return re.sub(r"([*_<>|\[\]`])", r"\\\1", text)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
