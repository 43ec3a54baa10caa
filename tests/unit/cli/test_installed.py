"""The command ``tuneproof`` of an installed package: the same program, without what needs a checkout."""

import sys

import pytest

from tuneproof.cli import main as cli
from tuneproof.cli.__main__ import installed


@pytest.fixture(autouse=True)
def as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start it as the script that pip makes is started."""
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/tuneproof"])


def test_it_goes_by_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    """And offers nothing that needs the tests or the images."""
    assert installed() == 2
    told = capsys.readouterr().err
    assert told.startswith("usage: tuneproof COMMAND")
    offered = {line.split()[0] for line in told.splitlines() if line.startswith("  ")}
    assert {"explain", "report", "compare", "matrix"} <= offered
    assert not cli.NEEDS_CHECKOUT & offered


@pytest.mark.parametrize("name", sorted(cli.NEEDS_CHECKOUT))
def test_what_needs_a_checkout_is_no_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([name])
    assert f"invalid choice: '{name}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv0", "status"), [("/usr/local/bin/tuneproof", cli.MISSING_PACKAGE), ("./lab", None)], ids=["installed", "lab"]
)
def test_a_package_that_is_missing_is_named(
    argv0: str, status: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it was installed without the lab's; in a checkout, which has all of them, it is a fault."""
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
