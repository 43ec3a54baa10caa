"""``./lab why``: explains a directive, a claim or an error message."""

import errno
import os
import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tuneproof.audit.why import is_directive, is_known, mentions, why
from tuneproof.cli import output
from tuneproof.cli.output import show
from tuneproof.conf.directives import rows_of
from tuneproof.errors import BadInputError
from tuneproof.messages.lookup import corrected, find, similar
from tuneproof.messages.render import lines
from tuneproof.messages.rows import Message, messages
from tuneproof.wording import count

_MOST: Final = 5
_STATUS: Final = re.compile(
    r"(?:http(?:/[\d.]+)? |nginx |error |status |code )*([45]\d\d)(?: [a-z -]+)?", re.IGNORECASE
)
_ANY_STATUS: Final = re.compile(r"(?<![\w.])[45]\d\d(?![\w.])")
_ERRNO: Final = re.compile(r"\[?(?:(?:errno|error)[ :=]*)+(\d{1,3})\]?", re.IGNORECASE)
# What people see instead of a status or a number: nginx's error pages, the HTTP standard's names, OpenSSL's reasons.
_MEANT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bad request": "400",
        "request header or cookie too large": "400",
        "unauthorized": "401",
        "authorization required": "401",
        "forbidden": "403",
        "not found": "404",
        "request time out": "408",
        "request timeout": "408",
        "request entity too large": "413",
        "payload too large": "413",
        "content too large": "413",
        "request uri too large": "414",
        "uri too long": "414",
        "unsupported media type": "415",
        "too many requests": "429",
        "internal server error": "500",
        "bad gateway": "502",
        "service temporarily unavailable": "503",
        "service unavailable": "503",
        "gateway time out": "504",
        "gateway timeout": "504",
        "certificate has expired": "verify error: (10:",
        "self signed certificate": "upstream_certificate_verify",
        "unable to get local issuer certificate": "upstream_certificate_verify",
    }
)
_LABEL_COLUMNS: Final = 9
# People copy messages, commands and paths, so these are not wrapped.
_VERBATIM: Final = frozenset({"Words", "", "Confirm", "Page"})

DESCRIPTION = """\
Look up a directive, a scenario, a claim, an error message, an errno or an HTTP status: what to do about it, the verdict
on each measured version of nginx, and the page with details.
"""
EPILOG = """\
examples:
  ./lab why multi_accept
  ./lab why keepalive_timeout
  ./lab why small_rmem_restores_loop
  ./lab why no live upstreams
  ./lab why 504
"""


def main(arguments: Sequence[str]) -> int:
    """Print the facts about a name; return the exit status 0.

    BadInputError: The name is unknown, or empty.
    """
    parser = output.parser("why", DESCRIPTION, EPILOG)
    parser.add_argument(
        "word",
        nargs="+",
        metavar="WORD",
        help="a directive, a scenario, a claim, a status, or words of an error message",
    )
    text = " ".join(" ".join(parser.parse_args(arguments).word).split())
    if not text:
        raise BadInputError(
            "no word to look up", remedy="name a directive, a claim or a message: ./lab why multi_accept"
        )
    text = _with_errno(_as_name(text))
    text = _MEANT.get(text.lower().replace("-", " "), text)
    status = _status_in(text)
    if of_status := _of_status(status):
        show("\n\n".join([of_status, *mentions(status)]))
        return 0
    # Any message may contain a single word by chance.
    is_named = is_known(text) or text.startswith("$") or (" " not in text and bool(mentions(text)))
    rows = () if is_named else find(text, in_any_order=not _is_short_line(text))
    if rows:
        show(_all_shown(rows))
    elif meant := () if is_named else _without_typos(text):
        show(f"No message has these words. Did you mean:\n\n{_all_shown(meant)}")
    elif of_status := _of_status_within(text):
        show(of_status)
    else:
        show("\n".join(map(_wrapped, why(_name_at_start(text)).splitlines())))
    return 0


def _as_name(text: str) -> str:
    """Return the known name for a text in any case, with blanks or hyphens for underscores; else the text."""
    bare = text.strip("`'\" ").rstrip(";{/: ").lower()
    names = (bare, "_".join(re.split("[ -]", bare)))
    return next(filter(is_known, names), text)


def _with_errno(text: str) -> str:
    """Return a system error such as "EMFILE" or "errno 24" as messages contain it: "(24: Too many open files)".

    An error that only one row's reasons mention becomes that row's id; other texts are returned unchanged.
    BadInputError: No message has the error.
    """
    found = _ERRNO.fullmatch(text)
    number = int(found[1]) if found else getattr(errno, text.upper(), 0)
    if number not in errno.errorcode:
        return text
    # The number alone may also be that of a certificate's error, of a signal, or of Windows.
    meaning = os.strerror(number)
    if find(words := f"({number}: {meaning})"):
        return words
    if row := next((row for row in messages().values() if f"{number} ({meaning}" in row.why), None):
        return row.id
    raise BadInputError(
        f"errno {number} ({errno.errorcode[number]}, {meaning}): no message is known by it alone",
        remedy="look up the line from the log that has it",
    )


def _status_in(text: str) -> str:
    """Return the status in a text such as "HTTP 502"; other texts, and words of a message, are returned unchanged."""
    found = _STATUS.fullmatch(text)
    return found[1] if found and not find(text) else text


def _of_status(text: str) -> str:
    """Return the messages that nginx logs when it answers with a status; empty if there are none."""
    rows = [row for row in messages().values() if text in map(str, row.statuses)]
    if not rows:
        return ""
    title = f"Messages in error.log with a {text} ({output.program()} why ID explains one):"
    return "\n".join([title, *(f"  {row.id}: {row.name}" for row in rows)])


def _is_short_line(text: str) -> bool:
    """Tell whether a text may be a line of nginx.conf with so few words that messages contain them by chance."""
    first, *_ = text.split()
    most = 1 if any(row.is_block for row in rows_of(first)) else 2
    return is_directive(first) and len(re.findall(r"\w+", text)) <= most


def _of_status_within(text: str) -> str:
    """Return the messages of a status in a sentence, such as "504 after 60 seconds"; empty for a line of nginx.conf."""
    found = _ANY_STATUS.search(text)
    return _of_status(found[0]) if found and not is_directive(text.split(maxsplit=1)[0]) else ""


def _name_at_start(text: str) -> str:
    """Return the longest name at the start of a text, with blanks for underscores; a parameter without its value."""
    words = text.lower().split()
    if len(words) == 1:
        return text.partition("=")[0]
    names = ("_".join(words[:number]) for number in range(len(words), 1, -1))
    return next(filter(is_known, names), text)


def _without_typos(text: str) -> tuple[Message, ...]:
    """Return the messages with similar words; none for a single word, or for a line from nginx.conf."""
    if " " not in text or text.endswith((";", "{")):
        return ()
    meant = corrected(text)
    if meant != text and (found := find(meant)):
        return found
    first, *rest = text.split()
    return similar(text) if len(rest) > 1 or not is_directive(first) else ()


def _all_shown(rows: Sequence[Message]) -> str:
    parts = [*map(_shown, rows[:_MOST])]
    if more := rows[_MOST:]:
        number = count(len(more), "more message has these words", "more messages have these words")
        title = f"{number} ({output.program()} why ID explains one):"
        parts.append("\n".join([title, *(f"  {row.id}: {row.name}" for row in more)]))
    return "\n\n".join(parts)


def _shown(row: Message) -> str:
    facts = ((name, f"{f'{name}:' if name else '':<{_LABEL_COLUMNS}}{text}") for name, text in lines(row))
    return "\n".join(line if name in _VERBATIM else _wrapped(line, indent=_LABEL_COLUMNS) for name, line in facts)


def _wrapped(line: str, *, indent: int | None = None) -> str:
    """Return a line wrapped to the terminal's width; ``indent``: that of further lines (default: two columns more)."""
    own = len(line) - len(line.lstrip())
    further = " " * (own + 2 if indent is None else indent)
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
