"""Reads and writes single files that users name: strangers may have written them, and they may be devices or pipes."""

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tuneproof.errors import BadInputError

MOST_BYTES: Final = 32 << 20
"""Four times the results of all claims on all versions."""
_MOST_VALUES: Final = 1_000_000
_DEEPEST: Final = 100


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises OSError: It cannot be read. UnicodeDecodeError: It is not UTF-8. BadInputError: It has more than
    :data:`MOST_BYTES`, or no end.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInputError(f"{path} has more than {MOST_BYTES >> 20} MiB: it is not what this option reads")
    return content.decode("utf-8")


def read_json(text: str, *, refuse: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text, which may not take much more memory than the text.

    ``refuse``: called for NaN and the infinities, which are not JSON (default: they are read). Raises ValueError: It is
    not JSON (json.JSONDecodeError), or has too many values. RecursionError: It is nested too deep.
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


def write_text(path: Path, text: str) -> None:
    """Write a text with its line ends as they are (BadInputError: the file cannot be written; a new one is removed)."""
    is_new = not os.path.lexists(path)
    try:
        # A name on the command line may have bytes of no encoding, which a patch repeats.
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    except OSError as error:
        if is_new:
            with suppress(OSError):
                path.unlink()
        raise BadInputError(f"{path} cannot be written: {error.strerror}") from error
