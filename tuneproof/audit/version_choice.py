"""Which version of nginx a configuration is for, where nobody says so, and what of it a version does not know."""

from collections.abc import Iterator
from dataclasses import dataclass

from tuneproof.conf.modules import used_modules
from tuneproof.conf.spelling import TABLES
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block, Configuration
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
class Need:
    """Something that older versions lack."""

    what: str  # as it stands in the files
    since: str  # the version that brought it, or that a module is first packaged for
    said: Statement | Block


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A version, and what an older one lacks."""

    version: str
    because: Need | None = None  # None where the oldest of the lab's will do


def concerns(configuration: Configuration) -> Iterator[Concern]:
    """Yield each directive of a configuration that some version does not know or no longer has, with that change."""
    for said, block in configuration.main.everything():
        if TABLES & set(block.path):
            continue
        for change in of_directive(said.name):
            if change.kind is not Kind.DEFAULT and is_in(change.block, block) and _has(said, change.parameter):
                yield Concern(change=change, said=said, block=block)


def choose_version(configuration: Configuration) -> Choice:
    """Return the oldest of the lab's versions that knows every directive and parameter in it; else the newest.

    Modules count as far as they are packaged for some version.
    """
    needs = [
        *(
            Need(what=concern.what, since=concern.change.version, said=concern.said)
            for concern in concerns(configuration)
            if concern.change.kind is Kind.NEW
        ),
        *(Need(what=used.what, since=used.module.since, said=used.said) for used in used_modules(configuration)),
    ]
    newest = max(needs, key=lambda need: as_numbers(need.since), default=None)
    for version in LAB_VERSIONS:
        if newest is None or as_numbers(newest.since) <= as_numbers(version):
            return Choice(version=version, because=newest if version != LAB_VERSIONS[0] else None)
    return Choice(version=LAB_VERSIONS[-1], because=newest)


def is_in(name: str, block: Block) -> bool:
    """Tell whether a change that is about some block concerns a directive of this one."""
    return not name or name == block.name or block.path[:1] == (name,)


def _has(said: Statement, parameter: str) -> bool:
    if not parameter:
        return True
    return any(arg == parameter or (parameter.endswith("=") and arg.startswith(parameter)) for arg in said.args)
