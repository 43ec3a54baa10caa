"""The source of a configuration: a file with its includes, a folder, an ``nginx -T`` dump, standard input."""

import fnmatch
import glob
import os
import posixpath
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

from tuneproof.conf.file_text import decode, is_binary, lines_of, without_terminal
from tuneproof.errors import BadInputError

STANDARD_INPUT: Final = "-"
# nginx -T prints this line above every file: https://nginx.org/en/docs/switches.html
_DUMPED: Final = re.compile(r"^# configuration file (\S.*):\s*$", re.MULTILINE)
# nginx prints such lines on standard error before a dump, so text copied from a terminal contains them as well.
_SAID: Final = re.compile(r"^nginx: (?:the configuration|configuration|\[).*$", re.MULTILINE)
_PROMPT: Final = re.compile(r"^\S*[#$>%] ?(?:exit|logout)?\s*$")
_MAX_BYTES: Final = 16 << 20
_LONGEST_NAME: Final = 4096
_DEEPEST_NAME: Final = 40
MOST_FILES: Final = 5_000
"""More files than any configuration includes. If every file includes another one twice, each level doubles them."""
_MOST_SEARCHED: Final = 200_000
# Where packages, and nginx built from source, keep the active configuration.
_INSTALLED: Final = (
    "/etc/nginx",
    "/usr/local/etc/nginx",
    "/usr/local/nginx/conf",
    "/usr/local/openresty/nginx/conf",
    "/opt/homebrew/etc/nginx",
)
_FOLDERS_OF_FRAGMENTS: Final = frozenset({"conf.d", "sites-available", "sites-enabled", "snippets"})
INPUT_NAME: Final = "standard input"
"""The name of a configuration that comes from a pipe, unless it is a dump."""
_MARKS_OF_A_TREE: Final = (".git", "nginx.conf")
# How many levels above a file to look for its nginx.conf.
_LEVELS: Final = 3
_OPEN_FILES: Final = Path("/dev/fd")


class Source(ABC):
    """The files of one configuration."""

    roots: Sequence[str]
    """Names of the files to start with: one, or the fragments in a folder."""
    is_complete: bool = False
    """Whether a missing file certainly does not exist."""
    is_installed: bool = False  # whether the configuration is used on this machine
    folder: str = ""
    """The folder that was given, if any: names are shown relative to it."""
    values: Mapping[str, str] = MappingProxyType({})
    """Values of a template's placeholders, by name."""

    @abstractmethod
    def text(self, name: str) -> str:
        """Return a file's text with its original line endings."""

    @abstractmethod
    def included(self, pattern: str) -> Sequence[str]:
        """Return the names of the files that an ``include`` matches, in nginx's order."""

    def folders(self, _pattern: str) -> Sequence[str]:
        """Return the folders that an ``include`` matches, which nginx cannot read."""
        return ()

    def broken_links(self, _pattern: str) -> Sequence[str]:
        """Return the links that an ``include`` matches, but that lead to nothing that can be read."""
        return ()


class Changed(Source):
    """A configuration in which the texts of some files are replaced."""

    def __init__(self, source: Source, texts: Mapping[str, str]) -> None:
        self._source = source
        self._texts = texts
        self.roots, self.folder, self.values = source.roots, source.folder, source.values
        self.is_complete, self.is_installed = source.is_complete, source.is_installed

    def text(self, name: str) -> str:
        """Return a file's text, replaced or not."""
        return self._texts[name] if name in self._texts else self._source.text(name)

    def included(self, pattern: str) -> Sequence[str]:
        """Return the names of the files that an ``include`` matches."""
        return self._source.included(pattern)

    def folders(self, pattern: str) -> Sequence[str]:
        """Return the folders that an ``include`` matches."""
        return self._source.folders(pattern)

    def broken_links(self, pattern: str) -> Sequence[str]:
        """Return the links that an ``include`` matches, but that lead to nothing that can be read."""
        return self._source.broken_links(pattern)


class Dump(Source):
    """The output of ``nginx -T``, or a single text without its includes.

    ``is_complete``: Whether it contains all files.
    """

    def __init__(self, files: Mapping[str, str], *, is_complete: bool) -> None:
        self._files = files
        self.roots = list(files)[:1]
        self.is_complete = is_complete
        self._prefix = posixpath.dirname(self.roots[0])

    def text(self, name: str) -> str:
        """Return one of the dumped files."""
        return self._files[name]

    def included(self, pattern: str) -> Sequence[str]:
        """Return the dumped files that match."""
        full = posixpath.normpath(posixpath.join(self._prefix, pattern))
        return sorted(name for name in self._files if _matches(posixpath.normpath(name), full))


class Files(Source):
    """Files on this machine: as installed, or a copy from another machine.

    An installed configuration may include, and link to, anything on this machine. A copy is limited to its tree.

    ``prefix``: The folder of the first file on the machine where the configuration is used (default: unknown).
    """

    def __init__(self, roots: Sequence[Path], *, prefix: str = "") -> None:
        self.roots = [str(root) for root in roots]
        self._folder = roots[0].parent
        self._prefix = prefix
        self.is_installed = not prefix and any(
            roots[0].absolute().is_relative_to(place) for place in _INSTALLED if Path(place).is_dir()
        )
        self._tree = _tree_of(self._folder)

    def text(self, name: str) -> str:
        """Return a file's text.

        Raises BadInputError: It cannot be read, or is far too large.
        """
        return _read(Path(name))

    def included(self, pattern: str) -> Sequence[str]:
        """Return the existing files, in nginx's order."""
        return self._matching(pattern, os.path.isfile)

    def folders(self, pattern: str) -> Sequence[str]:
        """Return the existing folders."""
        return self._matching(pattern, os.path.isdir)

    def broken_links(self, pattern: str) -> Sequence[str]:
        """Return the existing links to nothing; for a copy, also those to files outside its tree."""
        for found in self._found(pattern):
            broken = [path for path in found if Path(path).is_symlink() and self._is_broken(Path(path))]
            if broken:
                return broken
        return ()

    def _is_broken(self, link: Path) -> bool:
        is_dead = not link.exists() or not self._is_readable(link)
        return is_dead and self._is_readable(link.parent)

    def _is_readable(self, path: Path) -> bool:
        return self.is_installed or path.resolve().is_relative_to(self._tree)

    def _matching(self, pattern: str, is_meant: Callable[[str], bool]) -> Sequence[str]:
        for found in self._found(pattern):
            readable = [path for path in found if is_meant(path) and self._is_readable(Path(path))]
            if readable:
                return readable
        return ()

    def _found(self, pattern: str) -> Iterator[list[str]]:
        """Yield what a pattern matches, in nginx's order, for each folder that it may be relative to."""
        if "\0" not in pattern and len(pattern) <= _LONGEST_NAME and pattern.count("/") <= _DEEPEST_NAME:
            for candidate in self._candidates(pattern):
                yield sorted(glob.glob(candidate))  # noqa: PTH207 - nginx's own glob(3)

    def _candidates(self, pattern: str) -> list[str]:
        folder, prefix = self._folder, self._prefix
        above = [folder, *list(folder.absolute().parents)[:_LEVELS]]
        if not pattern.startswith("/"):
            # Relative to nginx.conf's folder, which is above that of a fragment.
            return [str(place / pattern) for place in above]
        if prefix:
            inside = posixpath.relpath(pattern, prefix)
            return [] if inside.startswith("..") else [str(folder / inside)]
        if self.is_installed:
            return [pattern]
        parts = pattern.strip("/").split("/")
        # A folder in a copied tree corresponds to one in the original: probably the folder with the longest common
        # ending. A star alone would match anything here.
        ends = ["/".join(parts[start:]) for start in range(len(parts) - ("*" in parts[-1]))]
        copied = [str(folder / end) for end in ends]
        return [*copied, *(str(place / ends[0]) for place in above[1:] if place != Path("/"))]


def _tree_of(folder: Path) -> Path:
    """Return a copy's base folder: the nearest with nginx.conf or version control; else its own, or conf.d's parent."""
    place = folder.resolve()
    for above in (place, *list(place.parents)[:_LEVELS]):
        if any((above / name).exists() for name in _MARKS_OF_A_TREE):
            return above
    return place.parent if place.name in _FOLDERS_OF_FRAGMENTS else place


def open_source(named: str, *, prefix: str = "", values: Mapping[str, str] | None = None) -> Source:
    """Return the configuration that a user names.

    Args:
        named: A file, a folder, or ``-`` for standard input.
        prefix: The folder of nginx.conf on the machine where the configuration is used.
        values: Values of a template's placeholders, by name (default: stand-ins).

    Raises BadInputError: The file or folder does not exist, or is not a configuration.
    """
    source = _opened(named, prefix=prefix)
    source.values = values or {}
    return source


def _opened(named: str, *, prefix: str) -> Source:
    if named == STANDARD_INPUT:
        return _of_text(INPUT_NAME, _as_text(INPUT_NAME, _limited(INPUT_NAME, sys.stdin.buffer)))
    if not named:
        # For example, a script's variable is unset; Path would take the empty name for the current folder.
        raise BadInputError("the configuration's name is empty", remedy="name an nginx.conf, its folder, or a dump")
    path = Path(named)
    try:
        if path.is_dir():
            found = Files(_beginnings(path), prefix=prefix)
            found.folder = named
            return found
        is_there = path.exists()
    except OSError as error:
        # The name is too long, a folder is inaccessible, or a process in /proc has ended.
        raise _unreadable(named, error) from error
    if not is_there:
        raise BadInputError(f"{named}: no such file or folder", remedy="name an nginx.conf, its folder, or a dump")
    text = _read(path)
    if path.is_fifo() or path.parent == _OPEN_FILES:
        # A shell's <(...), or standard input, which can be read only once and has no folder.
        return _of_text(INPUT_NAME, text)
    return _of_text(named, text) if _DUMPED.search(without_terminal(text)) else Files([path], prefix=prefix)


def _of_text(name: str, text: str) -> Dump:
    cleaned = without_terminal(text)
    files = dumped_files(cleaned)
    if not files and not cleaned.strip():
        raise BadInputError(f"{name} is empty", remedy="nginx -T 2>/dev/null prints a whole configuration")
    return Dump(files or {name: cleaned}, is_complete=bool(files))


def dumped_files(text: str) -> dict[str, str]:
    """Return the files of an ``nginx -T`` dump by name; empty for other text. The text must lack control sequences."""
    marks = list(_DUMPED.finditer(text))
    _require_few(marks, "the dump")
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    files: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        body = _SAID.sub("", text[mark.end() + 1 : end])
        lines = lines_of(body)
        while lines and (not lines[-1].strip() or _PROMPT.match(lines[-1])):
            lines.pop()
        # Older versions of nginx repeat a file that several others include, always with the same text.
        files.setdefault(mark.group(1), "".join(lines))
    return files


def _beginnings(folder: Path) -> list[Path]:
    for name in ("nginx.conf", "conf/nginx.conf", "nginx/nginx.conf", "etc/nginx/nginx.conf"):
        if (folder / name).is_file():
            return [folder / name]
    searched = list(islice(folder.rglob("*"), _MOST_SEARCHED))
    fragments = sorted(path for path in searched if path.is_file() and _may_be_fragment(path))
    _require_few(fragments, str(folder))
    if len(searched) == _MOST_SEARCHED:
        raise BadInputError(f"no nginx.conf among {_MOST_SEARCHED} files", where=str(folder), remedy="name its folder")
    if not fragments:
        raise BadInputError(f"no nginx.conf and no *.conf in {folder}", remedy="name the file that nginx starts with")
    return fragments


def _require_few(files: Sized, where: str) -> None:
    if len(files) > MOST_FILES:
        raise BadInputError(f"more than {MOST_FILES} files", where=where, remedy="name one site's own file")


def _may_be_fragment(path: Path) -> bool:
    return path.name.endswith((".conf", ".conf.template")) or path.parent.name in {"sites-enabled", "sites-available"}


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _as_text(str(path), _limited(str(path), file))
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _unreadable(name: str, error: OSError) -> BadInputError:
    is_denied = isinstance(error, PermissionError)
    return BadInputError(
        f"{name} cannot be read: {error.strerror}",
        remedy="give standard input: sudo nginx -T | ./lab audit -" if is_denied else "",
    )


def _limited(name: str, file: IO[bytes]) -> bytes:
    raw = file.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise BadInputError(f"{name} is larger than {_MAX_BYTES >> 20} MiB: no configuration is that large")
    return raw


def _as_text(name: str, raw: bytes) -> str:
    text = decode(raw)
    if is_binary(text):
        raise BadInputError(f"{name} is a binary file, not a configuration", remedy="name an nginx.conf, or its folder")
    return text


def _matches(name: str, pattern: str) -> bool:
    """Match as glob(3) does: a star does not match a slash."""
    ours, theirs = name.split("/"), pattern.split("/")
    return len(ours) == len(theirs) and all(map(fnmatch.fnmatchcase, ours, theirs))
