"""Reads and writes files that users name. Strangers may have written them, and they may be devices or pipes."""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tuneproof.errors import BadInputError

MOST_BYTES: Final = 32 << 20
"""More than four times the size of results for all claims on all versions."""
_MOST_VALUES: Final = 1_000_000
_DEEPEST: Final = 100


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises OSError: It cannot be read. UnicodeDecodeError: It is not UTF-8. BadInputError: It is larger than
    :data:`MOST_BYTES`, or has no end.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInputError(f"{path} is larger than {MOST_BYTES >> 20} MiB, so it is not what this option reads")
    return content.decode("utf-8")


def read_json(text: str, *, refuse: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text; limits on the number of values and their nesting bound its memory.

    ``refuse``: called for NaN and the infinities, which are not JSON (default: they are read). Raises ValueError: The
    text is not JSON (json.JSONDecodeError), or has too many values. RecursionError: It is nested too deeply.
    """
    if sum(map(text.count, ",[{")) > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES:,} values")
    value = json.loads(text, parse_constant=refuse)
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return value
    raise RecursionError(f"nested more than {_DEEPEST} deep")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def write_text(path: Path, text: str, *, inputs: Iterable[str] = ()) -> None:
    """Write a text with its line endings as they are.

    BadInputError: The file cannot be written, or is one of the ``inputs``. A new file is removed; an old file keeps its
    content if the disk is full.
    """
    is_new = not os.path.lexists(path)
    if any(_is_same(path, name) for name in inputs):
        raise BadInputError(f"{path} is a file of the configuration: nothing was written", remedy="name another file")
    # A name on the command line may contain bytes that are not UTF-8; a patch repeats them.
    content = text.encode("utf-8", errors="surrogateescape")
    try:
        # The file is written in place: a new one renamed over it would lose its owner, mode and links, and would need a
        # writable folder.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _reserve(file.fileno(), len(content))
                file.truncate(len(content))
            file.write(content)
    except OSError as error:
        if is_new:
            with suppress(OSError):
                path.unlink()
        raise BadInputError(
            f"{path} cannot be written: {error.strerror}", remedy="name a file in a folder that you may write to"
        ) from error


def _is_same(path: Path, name: str) -> bool:
    """Return whether both exist and are one file. The name may come from a dump, and be invalid as a path."""
    try:
        return path.samefile(name)
    except (OSError, ValueError):
        return False


def _reserve(file: int, size_bytes: int) -> None:
    """Reserve the disk space for a file's first bytes. OSError: There is not enough, and the file is unchanged."""
    before = os.fstat(file).st_size
    try:
        os.posix_fallocate(file, 0, max(size_bytes, 1))
    except OSError as error:
        # Other errors mean that this file system cannot reserve space.
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            os.ftruncate(file, before)
            raise
