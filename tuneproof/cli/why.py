"""``./lab why``: explains a directive, a claim or an error message."""

from collections.abc import Sequence
from typing import Final

from tuneproof.audit.why import is_known, mentions, why
from tuneproof.cli import output
from tuneproof.cli.output import show
from tuneproof.errors import BadInputError
from tuneproof.messages.lookup import corrected, find
from tuneproof.messages.render import lines
from tuneproof.messages.rows import Message, messages

_MOST: Final = 5

DESCRIPTION = """\
Look up a directive, a scenario, a claim or an error message: what to do about it, the verdict on each measured version
of nginx, and the page with details.
"""
EPILOG = """\
examples:
  ./lab why multi_accept
  ./lab why keepalive_timeout
  ./lab why small_rmem_restores_loop
  ./lab why no live upstreams
"""


def main(arguments: Sequence[str]) -> int:
    """Print the facts about a name; return the exit status 0.

    BadInputError: The name is unknown, or empty.
    """
    parser = output.parser("why", DESCRIPTION, EPILOG)
    parser.add_argument(
        "word", nargs="+", metavar="WORD", help="a directive, a scenario, a claim, or words of an error message"
    )
    text = " ".join(" ".join(parser.parse_args(arguments).word).split())
    if not text:
        raise BadInputError("no word to look up", remedy="such as ./lab why multi_accept")
    if of_status := _of_status(text):
        show("\n\n".join([of_status, *mentions(text)]))
        return 0
    # A single word may be in any message by chance.
    is_named = is_known(text) or text.startswith("$") or (" " not in text and bool(mentions(text)))
    rows = () if is_named else find(text)
    if rows:
        show(_all_shown(rows))
    elif meant := () if is_named else _without_typos(text):
        show(f"No message has these words. Did you mean:\n\n{_all_shown(meant)}")
    else:
        show(why(text))
    return 0


def _of_status(text: str) -> str:
    """Return the messages that nginx logs when it answers with a status; empty if there are none."""
    rows = [row for row in messages().values() if text in map(str, row.statuses)]
    if not rows:
        return ""
    title = f"Messages that error.log has with a {text} ({output.program()} why ID explains one):"
    return "\n".join([title, *(f"  {row.id}: {row.name}" for row in rows)])


def _without_typos(text: str) -> tuple[Message, ...]:
    """Return the messages with similar words: not of a single word, nor of a line of nginx.conf."""
    meant = corrected(text)
    return find(meant) if " " in text and meant != text and not text.endswith((";", "{")) else ()


def _all_shown(rows: Sequence[Message]) -> str:
    return "\n\n".join(map(_shown, rows[:_MOST]))


def _shown(row: Message) -> str:
    return "\n".join(f"{f'{name}:':<9}{said}" if name else f"{'':<9}{said}" for name, said in lines(row))
