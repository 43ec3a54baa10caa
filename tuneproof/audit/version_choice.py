"""Which version of nginx a configuration is for, where nobody says so, and what of it a version does not know."""

from collections.abc import Iterator
from dataclasses import dataclass

from tuneproof.audit.spelling import KNOWN, TABLES
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block, Configuration
from tuneproof.nginx_changes import LAB_VERSIONS, Change, Kind, of_directive
from tuneproof.wording import as_numbers


@dataclass(frozen=True, kw_only=True)
class Concern:
    """A change of nginx's, and the directive that it is about."""

    change: Change
    said: Statement
    block: Block

    @property
    def what(self) -> str:
        """What the change is about, as it stands there."""
        return f"{self.said.name} {self.change.parameter}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A version, and what an older one lacks."""

    version: str
    because: Concern | None = None  # None where the oldest of the lab's will do


def concerns(configuration: Configuration) -> Iterator[Concern]:
    """Yield each directive of a configuration that some version does not know or no longer has, with that change."""
    for said, block in configuration.main.everything():
        if TABLES & set(block.path):
            continue
        for change in of_directive(said.name):
            if change.kind is not Kind.DEFAULT and is_in(change.block, block) and _has(said, change.parameter):
                yield Concern(change=change, said=said, block=block)


def choose_version(configuration: Configuration) -> Choice:
    """Return the oldest of the lab's versions that knows every directive and parameter in it; else the newest."""
    found = list(concerns(configuration))
    new = [concern for concern in found if concern.change.kind is Kind.NEW]
    newest = max(new, key=lambda concern: concern.change.numbers, default=None)
    for version in LAB_VERSIONS:
        if newest is None or newest.change.numbers <= as_numbers(version):
            return Choice(version=version, because=newest if version != LAB_VERSIONS[0] else None)
    return Choice(version=LAB_VERSIONS[-1], because=newest)


def foreign(block: Block) -> Iterator[Statement | Block]:
    """Yield each directive in a block that loads a module, or belongs to one that is not nginx's own."""
    for said in block.own:
        if said.name == "load_module" or said.name not in KNOWN:
            yield said
    for inner in block.blocks:
        if inner.name not in KNOWN:
            yield inner
        elif inner.name not in TABLES:
            yield from foreign(inner)


def is_in(name: str, block: Block) -> bool:
    """Tell whether a change that is about some block concerns a directive of this one."""
    return not name or name == block.name or block.path[:1] == (name,)


def _has(said: Statement, parameter: str) -> bool:
    if not parameter:
        return True
    return any(arg == parameter or (parameter.endswith("=") and arg.startswith(parameter)) for arg in said.args)
