"""The effects of an upgrade at one place in a configuration."""

from dataclasses import dataclass
from enum import StrEnum

from tuneproof.audit.patches import Edit
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block


class Effect(StrEnum):
    """The effects of an upgrade on a line, the most urgent first."""

    REFUSED = "nginx does not start"
    MAY_BE_REFUSED = "nginx may not start"
    MODULE = "needs the new version's build"
    IGNORED = "ignored"
    DEPRECATED = "deprecated"
    DEFAULT = "another default"
    BEHAVIOUR = "behaves differently"
    ADVICE = "advice changes"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One change at one place."""

    effect: Effect
    what: str  # the directive, or the scenario of the advice
    at: Statement | Block
    why: str
    since: str = ""
    edits: tuple[Edit, ...] = ()  # the edits that the new version needs, or those that keep an old default
    breaks: bool = False  # whether requests start to fail

    @property
    def is_new_danger(self) -> bool:
        """Whether requests start to fail because a block lacks a directive."""
        return self.breaks and isinstance(self.at, Block)

    @property
    def urgency(self) -> tuple[bool, int]:
        """The sort key: first changes that nginx refuses, and those that break something; then by effect."""
        return not (self.breaks or self.effect is Effect.REFUSED), list(Effect).index(self.effect)


def place_in_files(at: Statement | Block) -> tuple[object, ...]:
    """Return a key that is the same in two audits of the same files."""
    return at.file, at.line, at.name, at.args
