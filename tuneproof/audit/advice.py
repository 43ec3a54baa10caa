"""What a piece of advice means for a configuration: the form in which every rule answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuneproof.audit.patches import Edit
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block


class State(StrEnum):
    """The state of a piece of advice in a configuration; the most urgent first."""

    HARMFUL = "harmful"
    WITHOUT_EFFECT = "without effect"
    MISSING = "missing"
    EXPIRED = "expired"
    CANNOT_TELL = "cannot tell"
    IN_EFFECT = "in effect"


@dataclass(frozen=True, kw_only=True)
class Advised:
    """One piece of advice at one place."""

    name: str  # the scenario of the catalogue that measures it
    claim: str  # the claim of it whose recorded verdict speaks for or against it
    state: State
    at: Statement | Block  # where: a directive or a block
    why: str  # what makes it so, and what it costs or gains, in one or two sentences
    edits: Sequence[Edit] = ()
    """What would change it; empty where nothing is to be done, or nothing can be said for certain."""
    price: str = ""  # what else changes with these edits
    breaks: bool = False  # whether requests fail or protection is lost; else it costs something
    routine: bool = False  # whether it is true of nearly every configuration
    source: str = ""  # nginx's documentation, where no claim was measured
    check: str = ""  # the command that shows what it depends on
    versions: tuple[str, ...] = ()  # where it does not hold on all versions that were compared, those on which it does

    @property
    def reason(self) -> str:
        """Why it is so, and, where there are edits, what else they change."""
        return f"{self.why}. With the patch, {self.price}" if self.price and self.edits else self.why

    @property
    def certainty(self) -> str:
        """How certain it is: "depends" on what no file says, "documented" by nginx, or "measured" by its claim."""
        if self.state is State.CANNOT_TELL:
            return "depends"
        return "documented" if self.source else "measured"

    @property
    def urgency(self) -> tuple[int, int]:
        """What comes first: what breaks or leaks, then what costs, then what has no effect, then what is routine."""
        states = list(State)
        if self.state is State.IN_EFFECT or self.routine:
            return 3, states.index(self.state)
        if self.breaks:
            return 0, states.index(self.state)
        return (2 if self.state in {State.WITHOUT_EFFECT, State.EXPIRED} else 1), states.index(self.state)


Rule = Callable[[Facts], Iterator[Advised]]
"""Finds everything in a configuration that a piece of advice concerns."""
