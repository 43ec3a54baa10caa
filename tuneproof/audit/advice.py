"""A piece of advice applied to a configuration; every rule yields these."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuneproof.audit.patches import Edit
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block


class State(StrEnum):
    """The state of a piece of advice in a configuration, in the order in which a section lists its findings."""

    HARMFUL = "harmful"
    WITHOUT_EFFECT = "without effect"
    MISSING = "missing"
    EXPIRED = "expired"
    CANNOT_TELL = "cannot tell"
    IN_EFFECT = "in effect"


@dataclass(frozen=True, kw_only=True)
class Advised:
    """One piece of advice at one place."""

    name: str  # the catalogue scenario that measures it
    claim: str  # the claim of which the recorded verdict is shown
    state: State
    at: Statement | Block  # its place: a directive or a block
    why: str  # the cause, and what it costs or gains, in one or two sentences
    edits: Sequence[Edit] = ()
    """The changes that would fix it; empty if there is nothing to do, or if a person must decide."""
    price: str = ""  # what else the edits change
    breaks: bool = False  # whether requests fail or protection is lost
    routine: bool = False  # whether it applies to nearly every configuration
    source: str = ""  # nginx's documentation or source code, if nothing was measured
    check: str = ""  # the command that shows the fact it depends on
    versions: tuple[str, ...] = ()  # the versions to which it applies, if not to all that were compared

    @property
    def reason(self) -> str:
        """The reason, and what else the edits change, if there are any."""
        return f"{self.why}. With the patch, {self.price}" if self.price and self.edits else self.why

    @property
    def certainty(self) -> str:
        """How certain this is: "depends" (on other facts), "documented" (by nginx), or "measured" (by its claim)."""
        if self.state is State.CANNOT_TELL:
            return "depends"
        return "documented" if self.source else "measured"

    @property
    def urgency(self) -> tuple[int, int]:
        """The sort key: what breaks or leaks first, then costs, lines without effect, and what is fine or routine."""
        states = list(State)
        if self.state is State.IN_EFFECT or self.routine:
            return 3, states.index(self.state)
        if self.breaks:
            return 0, states.index(self.state)
        return (2 if self.state in {State.WITHOUT_EFFECT, State.EXPIRED} else 1), states.index(self.state)


Rule = Callable[[Facts], Iterator[Advised]]
"""Finds every place in a configuration to which a piece of advice applies."""
