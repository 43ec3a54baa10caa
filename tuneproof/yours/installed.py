"""The path of each configuration file in the container: its original path, if known."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from tuneproof.conf.file_text import BYTE_ORDER_MARK
from tuneproof.conf.sources import Dump, Source
from tuneproof.conf.statements import parse_file
from tuneproof.conf.tree import HTTP, LOCATION, STREAM, Configuration, context_of
from tuneproof.errors import BadInputError

_WILD: Final = frozenset("*?[")
_FOLDER_OF_FRAGMENTS: Final = "tuneproof.d"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A configuration's files in a container."""

    main: str  # path of the file that nginx starts with
    paths: Mapping[str, str]  # paths in the container, by name
    wrapper: str = ""  # the text of a file around fragments, which goes to ``main``; empty for a complete configuration

    @property
    def folder(self) -> str:
        """Base folder of relative includes: https://nginx.org/en/docs/switches.html (-c)."""
        return posixpath.dirname(self.main)

    def with_lines(self, lines: Sequence[str]) -> Self:
        """Return a copy with directives added to the http{} around fragments; a complete configuration gets none."""
        return replace(self, wrapper=self.wrapper.replace("http {\n", "\n".join(["http {", *lines, ""]), 1))

    def files(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Return contents by path, without byte order marks, which the original files may not have."""
        read = {self.paths[name]: text.removeprefix(BYTE_ORDER_MARK) for name, text in texts.items()}
        found = {path: text.encode("utf-8", errors="surrogateescape") for path, text in read.items()}
        return {**found, self.main: self.wrapper.encode(errors="surrogateescape")} if self.wrapper else found


def installed(configuration: Configuration, source: Source, *, main: str) -> Installed:
    """Return the paths of the files; nginx.conf is at ``main``, unless a dump names its path.

    Raises BadInputError: It is a fragment of stream{}.
    """
    is_dump = isinstance(source, Dump)
    roots = list(source.roots)
    if configuration.is_fragment:
        folder = posixpath.join(posixpath.dirname(main), _FOLDER_OF_FRAGMENTS)
        paths = {name: posixpath.join(folder, posixpath.basename(name)) for name in roots}
        wrapper = _around({paths[name]: configuration.texts[name] for name in roots})
    else:
        first = roots[0] if is_dump and roots[0].startswith("/") else main
        paths, wrapper, main = {roots[0]: first}, "", first
    for name, pattern in configuration.includes.items():
        full = posixpath.join(posixpath.dirname(main), pattern)
        paths.setdefault(name, name if is_dump else _as_included(name, full))
    return Installed(main=main, paths=paths, wrapper=wrapper)


def _as_included(name: str, pattern: str) -> str:
    """Return a path that an include's pattern matches, for a file that is elsewhere on this machine."""
    parts = pattern.split("/")
    wild = [place for place, part in enumerate(parts) if _WILD & set(part)]
    if not wild:
        return posixpath.normpath(pattern)
    behind = name.split("/")[wild[0] - len(parts) :]
    return posixpath.normpath("/".join([*parts[: wild[0]], *behind]))


def _around(fragments: Mapping[str, str]) -> str:
    """Return an nginx.conf that includes fragments of http{}, server{} or a location."""
    lines = ["events {", "}", "http {", "include mime.types;"]
    for path, text in fragments.items():
        context = context_of(parse_file(path, text).statements)
        if context == STREAM:
            raise BadInputError("a fragment of stream{}: only HTTP is tested", where=path, remedy="name an nginx.conf")
        inner = f"include {path};"
        if context == LOCATION:
            inner = f"location / {{ {inner} }}"
        lines.append(inner if context == HTTP else f"server {{ listen 80; {inner} }}")
    return "\n".join([*lines, "}", ""])
