"""Security updates that images lack: apt compares their packages with this machine's package lists.

No container is started, and nothing is fetched.
"""

import io
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Final

import docker

from tuneproof.lab.engine import commands
from tuneproof.lab.engine.commands import Run
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.repeat import once_more
from tuneproof.lab.engine.session import session_on

_STATUS: Final = "/var/lib/dpkg/status"
_TIMEOUT_S: Final = 60.0
# One line for each package list (apt-get(8)).
_LISTS: Final = ("apt-get", "indextargets", "--format", "$(CODENAME) $(ARCHITECTURE) $(FILENAME)")
_DEBIANS: Final = ("Created-By: Packages", "Origin: Debian")
_LIST: Final = re.compile(r"^(\S+) (\S+) (/.+)$", re.MULTILINE)
_ARCHITECTURE: Final = re.compile(r"^Architecture: (?!all$)(\S+)$", re.MULTILINE)
# "Inst NAME [OLD] (NEW Debian-Security:12/oldstable-security [amd64])"; without OLD, it would be a new package.
_UPDATE: Final = re.compile(r"^Inst (\S+) \[[^\]]*\] \([^)]*\bDebian-Security:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Updates:
    """The available security updates."""

    packages: tuple[str, ...]  # names of the packages that have an update
    listed: date  # date of the oldest package list used; later updates are missing


def package_lists(client: docker.DockerClient, images: Iterable[str]) -> Iterator[str]:
    """Yield dpkg's list of packages of each image (TuneproofError: the engine refused, or does not answer)."""
    # The session's end removes all containers that were created, even if a response was lost.
    with session_on({"": client}) as session, engine_errors("reading the packages of the lab's images"):
        for image in images:
            made = once_more(partial(client.api.create_container, image, labels=session.labels))
            chunks, _ = client.api.get_archive(made["Id"], _STATUS)
            with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
                content = archive.extractfile(archive.getmembers()[0])
                yield content.read().decode() if content else ""


def updates_for(packages: Iterable[str], suite: str, *, run: Run = commands.run) -> Updates | None:
    """Return the updates for dpkg's lists of packages; None if this machine lacks that suite's lists, or apt fails.

    suite: Debian's name for it, such as "bookworm".
    """
    printed = run([*_LISTS, *_DEBIANS], timeout_s=_TIMEOUT_S)
    known = _LIST.findall(printed.output) if printed.status == 0 else []
    # apt would prefer the packages of a newer suite to the updates.
    if not all(name.startswith(suite) for name, _, _ in known):
        return None
    files = {architecture: Path(file) for name, architecture, file in known if name == f"{suite}-security"}
    found: set[str] = set()
    listed = []
    for text in packages:
        architecture = _ARCHITECTURE.search(text)
        if architecture is None or architecture[1] not in files or not files[architecture[1]].exists():
            return None
        finished = _simulated(text, architecture[1], run)
        if finished.status:
            return None
        found |= set(_UPDATE.findall(finished.output))
        listed.append(files[architecture[1]].stat().st_mtime)
    if not listed:
        return None
    return Updates(packages=tuple(sorted(found)), listed=datetime.fromtimestamp(min(listed), UTC).date())


def _simulated(packages: str, architecture: str, run: Run) -> commands.Finished:
    with tempfile.NamedTemporaryFile("w", prefix="tuneproof-", encoding="utf-8") as status:
        status.write(packages)
        status.flush()
        options = {
            "Dir::State::status": status.name,
            # This machine's own preferences and cache must not matter.
            "Dir::State::extended_states": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return run(["apt-get", "--simulate", *words, "dist-upgrade"], timeout_s=_TIMEOUT_S)
