"""A description of what a generator writes by default, and the resulting nginx.conf.

A description is a file in docs/generators/. Its table ``conf`` contains directives and their values, in our own order:
a list for a repeated directive, a table for a block.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.wording import as_numbers

FOLDER: Final = Path(__file__).parents[2] / "docs" / "generators"
_INDENT: Final = "    "


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A generator's defaults: facts about it, but none of its text."""

    slug: str  # the name of its files in docs/generators/
    name: str
    version: str  # what was read, and when it was published
    licence: str
    source: str  # its web address
    targets: str  # the version of nginx that it bundles or writes for; empty if it names none
    rendered: str  # what was rendered, and with which options
    left_out: tuple[str, ...]
    conf: Mapping[str, Any]

    @property
    def nginx(self) -> str:
        """The version to audit for: the lab's newest stable version that is not newer than ``targets``."""
        known = [version for version in STABLE_VERSIONS if as_numbers(version) <= as_numbers(self.targets or version)]
        return known[-1]

    @property
    def file(self) -> Path:
        """The path of its nginx.conf."""
        return FOLDER / f"{self.slug}.conf"

    @property
    def results(self) -> Path:
        """The path of the results of a run on that file."""
        return FOLDER / f"{self.slug}.json"

    def nginx_conf(self) -> str:
        """Return the configuration."""
        head = f"# {self.name} ({self.version}), as described in {self.slug}.toml"
        return "\n".join([head, *_lines(self.conf, ""), ""])


def every_generator(folder: Path = FOLDER) -> list[Generator]:
    """Return all descriptions, by name.

    Raises:
        TypeError, KeyError: A description lacks a key, or has an unknown one.
    """
    return [_read(path) for path in sorted(folder.glob("*.toml"))]


def _read(path: Path) -> Generator:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Generator(slug=path.stem, **{**content, "left_out": tuple(content["left_out"])})


def _lines(block: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, said in block.items():
        for value in said if isinstance(said, list) else [said]:
            if isinstance(value, Mapping):
                yield f"{indent}{name} {{"
                yield from _lines(value, indent + _INDENT)
                yield f"{indent}}}"
            else:
                yield f"{indent}{name} {value}".rstrip() + ";"
