"""The modules that a configuration needs in addition to nginx's binary."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.directives import known, rows_of
from tuneproof.conf.statements import GUESSED, TABLES, Statement
from tuneproof.conf.tree import Block, Configuration
from tuneproof.nginx_modules import Module, is_packaged, module_in, module_of, needed_by

_LOADING: Final = "load_module"


@dataclass(frozen=True, kw_only=True)
class Used:
    """A module that Debian packages, and the first place at which a configuration needs it."""

    module: Module
    said: Statement | Block
    is_loaded: bool  # whether the files load it; if not, something outside them must

    @property
    def what(self) -> str:
        """The name of the directive that needs it; for ``load_module``, also the file to load."""
        return _shown(self.said)


def used_modules(configuration: Configuration) -> tuple[Used, ...]:
    """Return the packaged modules that a configuration needs: loaded ones, then others, each after its dependencies."""
    found = [(said, block) for said, block in _directives(configuration.main) if said.name not in TABLES]
    loads = [(said, module_in(said.value)) for said, _ in found if isinstance(said, Statement) and _loads(said)]
    used = {module.name: Used(module=module, said=said, is_loaded=True) for said, module in loads if module}
    for said, block in found:
        module = module_of(said.name, in_stream="stream" in block.path)
        if module is None or module.name in used:
            continue
        for needed in needed_by(module):
            used.setdefault(needed.name, Used(module=needed, said=said, is_loaded=False))
    return tuple(used.values())


def has_known(configuration: Configuration) -> bool:
    """Tell whether a configuration has a directive of nginx, of its commercial edition, or of a packaged module."""
    names = (said.name for said, _ in _directives(configuration.main))
    return any(name in known() or is_packaged(name) for name in names)


def foreign(configuration: Configuration) -> Iterator[Statement | Block]:
    """Yield the directives of other modules that no ``load_module`` in the files adds, and that no problem reports.

    With a syntax error, nothing is yielded: nginx refuses such a file whatever modules it has.
    """
    problems = configuration.problems
    if any(problem.is_syntax for problem in problems):
        return
    reported = {problem.message for problem in problems}
    loaded = {module_in(said.value) for said in configuration.main.local(_LOADING)}
    for said, block in _directives(configuration.main):
        is_known = said.name in TABLES or rows_of(said.name) or f'unknown directive "{said.name}"' in reported
        if not is_known and module_of(said.name, in_stream="stream" in block.path) not in loaded - {None}:
            yield said


def unpackaged(configuration: Configuration) -> Iterator[str]:
    """Yield, with its place, each directive of an unpackaged module, and each ``load_module`` of one."""
    for said, block in _directives(configuration.main):
        module = module_in(said.value) if isinstance(said, Statement) and _loads(said) else None
        # known() would also have directives of nginx's commercial edition and of separate modules.
        is_known = bool(rows_of(said.name)) or module_of(said.name, in_stream="stream" in block.path) is not None
        if module is None and (_loads(said) or not is_known):
            yield f"{_shown(said)} ({said.file}:{said.line})"


def _directives(block: Block) -> Iterator[tuple[Statement | Block, Block]]:
    """Yield directives with their block, except those in tables and in other modules' blocks."""
    yield from ((said, block) for said in block.own)
    for inner in block.blocks:
        yield inner, block
        if inner.name == GUESSED or (rows_of(inner.name) and inner.name not in TABLES):
            yield from _directives(inner)


def _loads(said: Statement | Block) -> bool:
    return said.name == _LOADING


def _shown(said: Statement | Block) -> str:
    return " ".join((said.name, *said.args[: _loads(said)]))
