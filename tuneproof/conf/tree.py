"""A configuration as a tree of blocks with its includes, and the settings that blocks inherit in nginx."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuneproof.conf.directives import rows_of
from tuneproof.conf.sources import MOST_FILES, Changed, Source
from tuneproof.conf.spelling import slips
from tuneproof.conf.statements import GUESSED, TABLES, ParsedFile, Problem, Span, Statement, parse_file
from tuneproof.conf.templates import Filled, Values, refuse_template
from tuneproof.conf.wrapped import refuse_wrapped
from tuneproof.errors import BadInputError

HTTP: Final = ("http",)
SERVER: Final = ("http", "server")
LOCATION: Final = ("http", "server", "location")
STREAM: Final = ("stream",)
# More than any configuration needs; see MOST_FILES.
_MOST_STATEMENTS: Final = 200_000
_MOST_BYTES: Final = 32 << 20
_DEEPEST_INCLUDE: Final = 50
_TOO_MUCH: Final = "audit the part that matters: a site's own file, or the output of `nginx -T`"
# Files that come with nginx and contain only tables, on which hardly any finding depends.
_TABLES: Final = frozenset(
    {"mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params", "koi-utf", "koi-win", "win-utf"}
)
_ONLY_IN_MAIN: Final = frozenset({"events", "http", "stream", "mail", "worker_processes", "pid", "load_module", "user"})
_ONLY_IN_HTTP: Final = frozenset({"server", "upstream", "map", "geo", "split_clients", "log_format", "limit_req_zone"})
_ONLY_IN_SERVER: Final = frozenset({"location", "listen", "server_name"})
_GUESSED_CONTEXTS: Final = frozenset({"main", "http", "server", "location", "if in server", "if in location"})
_IN_LOCATION: Final = re.compile(r"(?:proxy|fastcgi|uwsgi|scgi|grpc|memcached)_|add_header$|try_files$|root$|alias$")


@dataclass(eq=False, kw_only=True)
class Block:
    """A block with its includes in place. Blocks are compared by identity."""

    name: str  # its directive; "main" for the outermost
    args: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    span: Span | None = None  # None for "main", and for a block assumed around a fragment
    parent: "Block | None" = field(default=None, repr=False)
    own: list[Statement] = field(default_factory=list)  # its directives without blocks, in order
    blocks: list["Block"] = field(default_factory=list)
    filled: tuple[Filled, ...] = ()  # a template's placeholders in its arguments
    unseen: list[str] = field(default_factory=list)
    """Its missing includes, which may contain directives for it."""
    absent_sites: list[str] = field(default_factory=list)
    """Its missing includes with a pattern, if it is main, http{} or stream{}."""
    tables: list[str] = field(default_factory=list)  # missing includes that come with nginx, such as mime.types
    _named: dict[str, list[Statement]] = field(default_factory=dict, init=False, repr=False)
    _of: int = field(default=0, init=False, repr=False)  # number of its directives that are in _named

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the blocks from the outermost to this one, without "main"."""
        return () if self.parent is None else (*self.parent.path, self.name)

    def within(self) -> Iterator["Block"]:
        """Yield this block and its outer blocks, the innermost first."""
        yield self
        if self.parent is not None:
            yield from self.parent.within()

    def below(self) -> Iterator["Block"]:
        """Yield every block below this one, in the order of the files."""
        for block in self.blocks:
            yield block
            yield from block.below()

    def all(self, name: str) -> Iterator["Block"]:
        """Yield every block with that name below this one, in the order of the files."""
        return (block for block in self.below() if block.name == name)

    def everything(self) -> "Iterator[tuple[Statement, Block]]":
        """Yield the directives without blocks in this block and inside it, each with the block around it."""
        for block in (self, *self.below()):
            yield from ((statement, block) for statement in block.own)

    def around(self, name: str) -> "Block | None":
        """Return the innermost block with that name around this one, or this one itself."""
        return next((block for block in self.within() if block.name == name), None)

    def local(self, name: str) -> list[Statement]:
        """Return the directives with that name in this block itself."""
        # Large blocks are searched for a few names repeatedly.
        for statement in self.own[self._of :]:
            self._named.setdefault(statement.name, []).append(statement)
        self._of = len(self.own)
        return list(self._named.get(name, ()))

    def in_effect(self, name: str) -> list[Statement]:
        """Return the directives with that name in effect here.

        A block's own directives replace all outer ones: https://nginx.org/en/docs/http/ngx_http_proxy_module.html
        ("inherited from the previous configuration level if and only if there are no … on the current level").
        """
        return next((found for block in self.within() if (found := block.local(name))), [])

    def setting(self, name: str) -> Statement | None:
        """Return the directive in effect here; if a block has several, the last one."""
        found = self.in_effect(name)
        return found[-1] if found else None

    def is_on(self, name: str) -> bool:
        """Tell whether an on/off directive is on here."""
        said = self.setting(name)
        return said is not None and said.value == "on"

    def is_off(self, name: str) -> bool:
        """Tell whether a directive that can be off is off here."""
        said = self.setting(name)
        return said is not None and said.value == "off"

    def in_use(self, name: str) -> Statement | None:
        """Return the directive in effect here; None if there is none, or it is off."""
        return None if self.is_off(name) else self.setting(name)

    @property
    def lacks_includes(self) -> bool:
        """Whether an include is missing, in this or an outer block, that may contain more directives for it."""
        return any(level.unseen for level in self.within())

    def hides(self, name: str) -> bool:
        """Tell whether a missing file may set a directive here; it cannot if a nearer block sets the directive."""
        for level in self.within():
            if level.local(name):
                return False
            if level.unseen:
                return True
        return False

    def servers(self) -> list["Block"]:
        """Return the servers to which a directive of this block applies."""
        server = self.around("server")
        return [server] if server else list(self.all("server"))

    def listens_with(self, parameter: str) -> bool:
        """Tell whether a server has a ``listen`` with some parameter, such as "ssl"."""
        return any(parameter in listen.args for listen in self.local("listen"))


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The files that were read."""

    main: Block
    texts: dict[str, str]  # the files by name, unchanged
    problems: tuple[Problem, ...]  # their errors
    unseen: tuple[str, ...]  # includes with missing files
    is_fragment: bool  # whether this is only part of a configuration, so that there may be other settings elsewhere
    includes: dict[str, str] = field(default_factory=dict)
    """The included files, each with the argument of the first ``include`` that matches it."""
    filled: tuple[Filled, ...] = ()  # a template's placeholders, without repetitions

    @property
    def is_broken(self) -> bool:
        """Whether nginx would refuse the configuration. A file that is missing here may exist on nginx's machine."""
        return not all(problem.message.startswith("open()") for problem in self.problems)

    @property
    def is_whole(self) -> bool:
        """Whether the configuration is complete."""
        return not self.unseen and not self.is_fragment


def read_configuration(source: Source) -> Configuration:
    """Read a configuration with all its includes.

    Raises BadInputError: A file cannot be read, is a template or other text, or there is too much to read.
    """
    reader = _Reader(source)
    main = Block(name="main")
    fragments = [reader.read_root(main, root) for root in source.roots]
    return Configuration(
        main=main,
        texts=reader.texts,
        problems=tuple(dict.fromkeys(reader.problems)),
        unseen=tuple(dict.fromkeys(reader.unseen)),
        is_fragment=any(fragments),
        includes=reader.includes,
        filled=tuple({one.written: one for said in _statements(main) for one in said.filled}.values()),
    )


def problem_at(at: Statement | Block, message: str) -> Problem:
    """Return an error of a directive or a block."""
    return Problem(file=at.file, line=at.line, message=message)


def is_given(at: Statement | Block) -> bool:
    """Tell whether no argument is a stand-in for a template's placeholder."""
    return all(one.is_given for one in at.filled)


def _statements(block: Block) -> Iterator[Statement | Block]:
    """Yield every directive and every block of a block, in no particular order."""
    yield from block.own
    for inner in block.blocks:
        yield inner
        yield from _statements(inner)


def filled_in(source: Source, configuration: Configuration) -> Source:
    """Return a template with its placeholders replaced by the values; any other configuration unchanged."""
    texts = dict(configuration.texts)
    found = {(one.file, one.span.start): one for one in _statements(configuration.main) if one.filled and one.span}
    for file, start in sorted(found, reverse=True):
        said = found[file, start]
        end = said.span.end if said.span is not None else start
        written = texts[file][start:end]
        for one in said.filled:
            written = written.replace(one.written, one.value)
        texts[file] = texts[file][:start] + written + texts[file][end:]
    return Changed(source, texts) if found else source


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._values = Values(given=source.values)
        self.texts: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.unseen: list[str] = []
        self.includes: dict[str, str] = {}
        self._is_fragment = False
        self._statements = self._bytes = self._includes = 0
        self._parsed: dict[tuple[str, tuple[str, ...]], ParsedFile] = {}
        self._judged: set[tuple[str, tuple[str, ...]]] = set()

    def read_root(self, main: Block, name: str) -> bool:
        """Read a file that nothing includes; return whether it is a fragment."""
        path = context_of(self._parsed_file(name, (GUESSED,)).statements)
        refuse_wrapped(name, self.texts[name])
        self._is_fragment = bool(path)
        block = main
        for part in path:
            # Fragments of the same kind share an http{}, but not a server{}.
            known = next((inner for inner in block.blocks if inner.name == part and part in (*HTTP, *STREAM)), None)
            if known is None:
                known = Block(name=part, args=("/",) if part == "location" else (), file=name, line=1, parent=block)
                block.blocks.append(known)
            block = known
        self._add(block, self._parse(name, block), chain=(name,))
        return bool(path)

    def _parse(self, name: str, block: Block) -> tuple[Statement, ...]:
        around = _context(block)
        parsed = self._parsed_file(name, around)
        if (name, around) not in self._judged:
            self._judged.add((name, around))
            self.problems += parsed.problems
            if not set(around) & TABLES:
                self.problems += slips(parsed.statements)
        return parsed.statements

    def _parsed_file(self, name: str, around: tuple[str, ...]) -> ParsedFile:
        if name not in self.texts:
            text = self._source.text(name)
            self._bytes += len(text)
            if self._bytes > _MOST_BYTES:
                raise BadInputError(f"more than {_MOST_BYTES >> 20} MiB of configuration", where=name)
            refuse_template(name, text)
            self.texts[name] = text
        key = (name, around)
        if key not in self._parsed:
            self._parsed[key] = parse_file(name, self.texts[name], around=around, values=self._values)
        return self._parsed[key]

    def _add(self, block: Block, statements: Sequence[Statement], *, chain: tuple[str, ...]) -> None:
        self._statements += len(statements)
        if self._statements > _MOST_STATEMENTS:
            raise BadInputError(
                f"more than {_MOST_STATEMENTS} directives, each include counted", where=chain[-1], remedy=_TOO_MUCH
            )
        for statement in statements:
            if statement.name == "include" and statement.args:
                self._include(block, statement, chain=chain)
            elif statement.block is None:
                block.own.append(statement)
            else:
                inner = Block(
                    name=statement.name,
                    args=statement.args,
                    file=statement.file,
                    line=statement.line,
                    span=statement.span,
                    parent=block,
                    filled=statement.filled,
                )
                block.blocks.append(inner)
                self._add(inner, statement.block, chain=chain)

    def _include(self, block: Block, statement: Statement, *, chain: tuple[str, ...]) -> None:
        """Read the included files; ``chain`` lists the including files, the outermost first."""
        pattern = statement.value
        names = self._source.included(pattern)
        for name in names:
            if name in chain:
                self.problems.append(problem_at(statement, f'include "{pattern}" leads to itself'))
                continue
            if len(chain) > _DEEPEST_INCLUDE:
                raise BadInputError(f"includes nested more than {_DEEPEST_INCLUDE} deep", where=name, remedy=_TOO_MUCH)
            self._includes += 1
            if self._includes > MOST_FILES:
                raise BadInputError(f"more than {MOST_FILES} files are included", where=name, remedy=_TOO_MUCH)
            self.includes.setdefault(name, pattern)
            self._add(block, self._parse(name, block), chain=(*chain, name))
        if self._has_unreadable(block, statement, names) or names:
            return
        if posixpath.basename(pattern) in _TABLES:
            block.tables.append(pattern)
            return
        has_star = _has_star(pattern)
        # A fragment, a copy, or a file that the user names on its own lacks files that exist on its original machine.
        is_alone = not self._source.folder and not self._source.is_installed
        is_elsewhere = not self._source.is_complete and (pattern.startswith("/") or self._is_fragment or is_alone)
        if not has_star and not is_elsewhere:
            message = f'open() "{pattern}" failed (2: No such file or directory)'
            self.problems.append(problem_at(statement, message))
        if not has_star or not self._source.is_complete:
            self._lacks(pattern, block, has_star=has_star)

    def _has_unreadable(self, block: Block, statement: Statement, names: Sequence[str]) -> bool:
        """Report the folders and broken links that an include matches; tell whether there are any."""
        pattern = statement.value
        # In a copy, a pattern may also match folders in the wrong places.
        beside = {posixpath.dirname(name) for name in names}
        folders = [name for name in self._source.folders(pattern) if not names or posixpath.dirname(name) in beside]
        for name in folders:
            self.problems.append(problem_at(statement, f'pread() "{name}" failed (21: Is a directory)'))
        broken = self._source.broken_links(pattern) if _has_star(pattern) else ()
        for name in broken:
            if self._source.is_installed:
                self.problems.append(problem_at(statement, f'open() "{name}" failed (2: No such file or directory)'))
            else:
                self._lacks(name, block, has_star=True)
        return bool(folders or broken)

    def _lacks(self, pattern: str, block: Block, *, has_star: bool) -> None:
        self.unseen.append(pattern)
        # Files that http{} includes with a pattern are sites, and seldom contain settings for the other sites.
        is_of_sites = has_star and block.name in {"main", "http", "stream"}
        (block.absent_sites if is_of_sites else block.unseen).append(pattern)


def _has_star(pattern: str) -> bool:
    return any(character in pattern for character in "*?[")


def _context(block: Block) -> tuple[str, ...]:
    """Return the names of the blocks around a file, the outermost first, after GUESSED if some are not in the files."""
    found: list[str] = []
    for level in block.within():
        if level.parent is not None and level.span is None:
            return (GUESSED, *reversed(found))
        if level.parent is not None:
            found.append(level.name)
    return tuple(reversed(found))


def context_of(statements: Sequence[Statement]) -> tuple[str, ...]:
    """Return the blocks that must include a file, outermost first; empty for a complete configuration."""
    names = {statement.name for statement in statements}
    if names & _ONLY_IN_MAIN:
        return ()
    if names & _ONLY_IN_HTTP:
        servers = [statement for statement in statements if statement.name == "server" and statement.block is not None]
        return STREAM if servers and all(map(_is_of_stream, servers)) else HTTP
    if names & _ONLY_IN_SERVER:
        return SERVER
    allowed = [{context for row in rows_of(name) for context in row.contexts} for name in names if rows_of(name)]
    common = set[str]().union(*allowed).intersection(*allowed)
    if common and common.isdisjoint(_GUESSED_CONTEXTS):
        # A part of an upstream block, of stream{} or of mail{}.
        return (GUESSED,)
    if any(map(_IN_LOCATION.match, names)):
        return LOCATION
    return next((path for path in (HTTP, SERVER, LOCATION) if path[-1] in common), ())


def _is_of_stream(server: Statement) -> bool:
    """Tell whether the block is a stream{} server, which proxies without a location."""
    inner = {statement.name: statement for statement in server.block or ()}
    passes_on = "proxy_pass" in inner and "://" not in inner["proxy_pass"].value
    return passes_on and not {"location", "server_name"} & inner.keys()
