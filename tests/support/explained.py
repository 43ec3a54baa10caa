"""Explanations of files that a test writes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tuneproof.explain.explanation import Explanation, explain
from tuneproof.explain.found import Found
from tuneproof.explain.opening import Source


def explained(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    log_formats: Sequence[str] = (),
    configurations: Sequence[Path] = (),
) -> Explanation:
    """Write files into a folder, and explain them in this order."""
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    given = [Source(name=name, path=folder / name) for name in files]
    return explain(given, log_formats=log_formats, configurations=configurations)


def figure(found: Found, name: str) -> float | str | None:
    """Return the value of the only figure that has this name, alone or in brackets in a longer name."""
    (value,) = [figure.value for figure in found.figures if name == figure.name or f"({name})" in figure.name]
    return value
