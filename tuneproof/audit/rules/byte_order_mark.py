"""Finds files that begin with a byte order mark, with which nginx does not start."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.conf.facts import Facts
from tuneproof.conf.file_text import BYTE_ORDER_MARK
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.lines import DOCUMENTED

NAME: Final = DOCUMENTED
RANK: Final = 9
CLAIM: Final = "byte_order_mark_is_part_of_a_word"
_WHY: Final = (
    "this file begins with a byte order mark (UTF-8 with BOM, or UTF-16). Unless an editor added it to this copy only, "
    "nginx does not start: unknown directive. Save the file as UTF-8 without BOM"
)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield a finding for each such file, at its first directive."""
    configuration = facts.configuration
    marked = {name for name, text in configuration.texts.items() if text.startswith(BYTE_ORDER_MARK)}
    for at in _written(configuration.main) if marked else ():
        if at.file in marked:
            marked.remove(at.file)
            yield Advised(
                name=NAME,
                claim=CLAIM,
                state=State.CANNOT_TELL,
                at=at,
                why=_WHY,
                breaks=True,
                source="https://github.com/nginx/nginx/blob/master/src/core/ngx_conf_file.c",
                check="head -c 3 FILE | od -c, on nginx's machine: 357 273 277, 377 376 or 376 377 is the mark",
            )


def _written(main: Block) -> Iterator[Statement | Block]:
    """Yield the directives and blocks of the files, in the order of their lines."""
    written: list[Statement | Block] = [block for block in main.below() if block.span is not None]
    yield from sorted((*written, *(said for said, _ in main.everything())), key=lambda one: one.line)
