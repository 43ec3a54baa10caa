"""The command ``tuneproof`` in an installed package is the same program, without the parts that need a checkout."""

import os
import re
import sys

import pytest

from tuneproof.cli import main as cli
from tuneproof.cli.__main__ import installed
from tuneproof.cli.output import say
from tuneproof.own_version import VERSION


@pytest.fixture(autouse=True)
def as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the command like the script that pip creates."""
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/tuneproof"])


def test_the_installed_command_uses_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Its usage does not list commands that need the tests or the images."""
    assert installed() == 2
    usage = capsys.readouterr().err
    assert usage.startswith("usage: tuneproof COMMAND")
    offered = {line.split()[0] for line in usage.splitlines() if line.startswith("  ")}
    assert {"explain", "report", "compare"} <= offered
    assert not cli.NEEDS_CHECKOUT & offered


@pytest.mark.parametrize(
    "words",
    [*([name] for name in sorted(cli.NEEDS_CHECKOUT)), ["upgrade", "--from=1.26", "--to=1.30", "--prove", os.devnull]],
    ids=lambda words: words[0],
)
def test_a_command_that_needs_a_checkout_names_the_remedy(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == cli.MISSING_PACKAGE
    assert re.search(r"fix: clone Tuneproof's repository, and .* \W?\./lab ", capsys.readouterr().err)


def test_messages_name_the_command_that_the_user_types(capsys: pytest.CaptureFixture[str]) -> None:
    """Only commands that need a checkout begin with ``./lab``."""
    say("`./lab run` tests it, `./lab clean --engine x` or ./lab compare OLD NEW")
    assert capsys.readouterr().err == (
        "tuneproof: `./lab run` tests it, `tuneproof clean --engine x` or tuneproof compare OLD NEW\n"
    )


def test_the_version_of_the_package_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"tuneproof {VERSION}\n"


@pytest.mark.parametrize(
    ("argv0", "status"), [("/usr/local/bin/tuneproof", cli.MISSING_PACKAGE), ("./lab", None)], ids=["installed", "lab"]
)
def test_a_missing_package_is_named(
    argv0: str, status: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command may be installed without the lab's packages. In a checkout, a missing package is a bug."""
    monkeypatch.setattr(sys, "argv", [argv0])
    monkeypatch.setitem(sys.modules, "docker", None)
    monkeypatch.delitem(sys.modules, "tuneproof.cli.doctor", raising=False)
    monkeypatch.delitem(sys.modules, "docker.errors", raising=False)
    if status is None:
        with pytest.raises(ModuleNotFoundError):
            cli.main(["doctor"])
        return
    assert cli.main(["doctor"]) == status
    assert "`doctor` needs the package docker; fix: pip install 'tuneproof[lab]'" in capsys.readouterr().err
