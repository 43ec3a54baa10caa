"""Security updates that images lack, with simulated output from apt and a simulated engine."""

import io
import os
import tarfile
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import date
from pathlib import Path

import pytest
import requests

from tests.support.fake_api import FakeApi
from tuneproof.lab.engine import session
from tuneproof.lab.engine.commands import Finished, Run
from tuneproof.lab.engine.updates import Updates, package_lists, updates_for

PACKAGES = "Package: adduser\nArchitecture: all\nVersion: 3\n\nPackage: openssl\nArchitecture: amd64\nVersion: 3.0.15\n"
# Output of apt-get 2.6 in Debian 12: an update in each archive, one in both, and a new package.
SIMULATED = """\
Inst base-files [12.4+deb12u10] (12.4+deb12u13 Debian:12.13/oldstable [amd64])
Inst openssl [3.0.15-1~deb12u1] (3.0.17-1~deb12u3 Debian-Security:12/oldstable-security [amd64]) [libssl3:amd64 ]
Inst libc6 [2.36-9+deb12u9] (2.36-9+deb12u13 Debian:12.13/oldstable, Debian-Security:12/oldstable-security [amd64])
Inst libnew (1.0 Debian-Security:12/oldstable-security [amd64])
Conf openssl (3.0.17-1~deb12u3 Debian-Security:12/oldstable-security [amd64])
"""


@pytest.fixture
def lists(tmp_path: Path) -> str:
    """Return apt's output about its package lists from Debian."""
    security = tmp_path / "security"
    security.touch()
    os.utime(security, (0, 86_400 * 365))
    return f"bookworm amd64 /lists/main\nbookworm-updates amd64 /lists/more\nbookworm-security amd64 {security}\n"


def apt(lists: str, *, status: int = 0) -> Run:
    """Return a stand-in for apt-get that checks the list of packages that it gets."""

    def run(command: Sequence[str], **_: float) -> Finished:
        if "indextargets" in command:
            return Finished(status=0, output=lists)
        (file,) = (word.partition("=")[2] for word in command if word.startswith("Dir::State::status="))
        assert Path(file).read_text(encoding="utf-8") == PACKAGES
        return Finished(status=status, output=SIMULATED)

    return run


def test_updates_in_the_security_archive_are_named(lists: str) -> None:
    """The date is that of the security list. New packages, and updates from a point release only, are left out."""
    wanted = Updates(packages=("libc6", "openssl"), listed=date(1971, 1, 1))
    assert updates_for([PACKAGES, PACKAGES], "bookworm", run=apt(lists)) == wanted


@pytest.mark.parametrize(
    ("suite", "more", "packages"),
    [
        pytest.param("trixie", "", PACKAGES, id="another-suite"),
        pytest.param("bookworm", "trixie amd64 /lists/trixie\n", PACKAGES, id="a-newer-suite-as-well"),
        pytest.param("bookworm", "", PACKAGES.replace("amd64", "arm64"), id="another-architecture"),
        pytest.param("bookworm", "", "", id="no-packages"),
    ],
)
def test_updates_are_unknown_if_apts_lists_do_not_match_the_images_packages(
    lists: str, suite: str, more: str, packages: str
) -> None:
    assert updates_for([packages], suite, run=apt(lists + more)) is None


def test_updates_are_unknown_if_apt_fails_or_lacks_the_security_list(lists: str) -> None:
    """Apt also prints the paths of lists that it has not fetched yet."""
    assert updates_for([PACKAGES], "bookworm", run=lambda *_, **__: Finished(status=127, output="not found")) is None
    assert updates_for([PACKAGES], "bookworm", run=apt(lists, status=100)) is None
    assert updates_for([PACKAGES], "bookworm", run=apt(lists.replace("security\n", "security.missing\n"))) is None


def test_the_containers_that_packages_are_read_from_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container is also removed if the engine created it and the response was lost."""
    monkeypatch.setattr(session, "reaper", lambda *_, **__: nullcontext())
    api = FakeApi()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("status")
        entry.size = len(PACKAGES)
        tar.addfile(entry, io.BytesIO(PACKAGES.encode()))
    create_container = api.create_container

    def create(image: str, *, labels: dict[str, str]) -> dict[str, str]:
        made = create_container(image, name=f"{len(api.names())} before", labels=labels)
        if len(api.names()) == 1:
            raise requests.ConnectionError("Connection aborted.")
        return made

    monkeypatch.setattr(api, "create_container", create)
    monkeypatch.setattr(api, "get_archive", lambda _container, _path: ([archive.getvalue()], {}), raising=False)
    assert list(package_lists(api.client, ["one", "two"])) == [PACKAGES, PACKAGES]
    assert len(api.named) == 3
    assert not api.held["container"]
