"""Finds arguments in typographic quotes, which nginx takes for a part of the value."""

import re
from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import TABLES, Statement
from tuneproof.lines import DOCUMENTED

NAME: Final = DOCUMENTED
RANK: Final = 9
CLAIM: Final = "typographic_quotes_are_part_of_a_value"
_QUOTES: Final = "\u2018\u2019\u201a\u201c\u201d\u201e"
_BEGINNING: Final = 20


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield a finding for each directive with such an argument."""
    configuration = facts.configuration
    for said, block in configuration.main.everything():
        if block.name not in TABLES and _is_quoted(said, configuration.texts[said.file]):
            yield Advised(
                name=NAME,
                claim=CLAIM,
                state=State.HARMFUL,
                at=said,
                why=f"{said.name}: nginx takes these typographic quotes for a part of the value, and ends it at a "
                "space: write \" or ' instead",
                breaks=True,
                source="https://nginx.org/en/docs/beginners_guide.html#conf_structure",
            )


def _is_quoted(said: Statement, text: str) -> bool:
    """Tell whether an argument begins with a typographic quote, and not with a plain one before it in the file."""
    beginnings = [re.escape(arg[:_BEGINNING]) for arg in said.args if arg and arg[0] in _QUOTES]
    return any(re.search(rf"\s{one}", text[said.span.start : said.span.end]) for one in beginnings)
