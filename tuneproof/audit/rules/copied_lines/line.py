"""What there is to say of a directive that is copied, and when."""

from collections.abc import Callable
from dataclasses import dataclass

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.patches import Edit, Replace
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block


@dataclass(frozen=True, kw_only=True)
class CopiedLine:
    """What there is to say of one directive."""

    directive: str
    scenario: str  # the scenario whose claim it rests on
    claim: str
    state: State
    why: str
    when: Callable[[Statement, Block, Facts], bool] = lambda _said, _block, _facts: True
    """Tells from the directive, the block that it stands in and the rest whether it is meant."""
    leave_out: bool = False  # whether the patch takes the directive away
    instead: str = ""  # what the patch puts in its place; empty for nothing

    def edits(self, said: Statement) -> tuple[Edit, ...]:
        """Return what would change it."""
        return (Replace(old=said, text=self.instead),) if self.leave_out or self.instead else ()


def said_as(*args: str) -> Callable[[Statement, Block, Facts], bool]:
    """Return the condition that a directive has just these arguments."""
    return lambda said, _block, _facts: said.args == args
