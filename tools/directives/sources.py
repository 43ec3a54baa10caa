"""Files in nginx's repositories at a version."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tuneproof.wording import as_numbers

FIRST: Final = "1.18.0"
_TAG: Final = re.compile(r"release-([\d.]+)")
_VERSION: Final = re.compile(r'#define NGINX_VERSION\s+"([\d.]+)"')
_DOCUMENTED: Final = re.compile(r'<directive name="(\w+)">')
_VARIABLE: Final = re.compile(r'id="var_(\w+)"')
_FOLDERS: Final = ("src/core", "src/event", "src/http", "src/stream", "src/mail", "src/misc")


class Repository:
    """One of nginx's repositories: a checkout or a git directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def versions(self, *, unreleased: str = "") -> dict[str, str]:
        """Return the revision of each version from 1.18.0 on, oldest first.

        ``unreleased`` is a revision after the newest tag; it counts as the version in its nginx.h.
        """
        tags = [match[1] for tag in self._git("tag").split() if (match := _TAG.fullmatch(tag))]
        chosen = {tag: f"release-{tag}" for tag in tags if as_numbers(tag) >= as_numbers(FIRST)}
        if unreleased:
            found = _VERSION.search(self._git("show", f"{unreleased}:src/core/nginx.h"))
            if found and found[1] not in chosen:
                chosen[found[1]] = unreleased
        return {version: chosen[version] for version in sorted(chosen, key=as_numbers)}

    def blobs(self, revision: str) -> Iterator[str]:
        """Yield the ids of the C files in a revision."""
        for line in self._git("ls-tree", "-r", revision, *_FOLDERS).splitlines():
            about, _, name = line.partition("\t")
            if name.endswith((".c", ".h")):
                yield about.split()[2]

    def documented(self) -> list[str]:
        """Return the directives described in nginx.org's repository."""
        found = self._git("grep", "-h", "<directive name=", "HEAD", "--", "xml/en/docs")
        return _DOCUMENTED.findall(found)

    def documented_variables(self, kind: str) -> list[str]:
        """Return the variables described on nginx.org's pages about the modules for http or stream."""
        return _VARIABLE.findall(self._git("grep", "-h", 'id="var_', "HEAD", "--", f"xml/en/docs/{kind}"))

    def text(self, blob: str) -> str:
        """Return the contents of a file."""
        return self._git("cat-file", "blob", blob)

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", self._path, *arguments], check=True, capture_output=True)
        return done.stdout.decode(errors="replace")
