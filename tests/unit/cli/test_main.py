"""What all commands have in common: usage, exit statuses, and messages instead of tracebacks."""

import pwd
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from unittest.mock import Mock

import pytest

from tests.support.places import CHECKOUT
from tuneproof.cli import main as cli
from tuneproof.errors import BadInputError, CannotRunHereError, LabError, TuneproofError

Command = Callable[[Sequence[str]], int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Command], None]:
    """Replace the function of ``./lab doctor``."""

    def install(function: Command) -> None:
        module = types.ModuleType("tuneproof.cli.doctor")
        module.__dict__["main"] = function
        monkeypatch.setitem(sys.modules, "tuneproof.cli.doctor", module)

    return install


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(["--help"])
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert " ".join(word for word in words if word in cli.COMMANDS) == (
        "run test doctor report compare matrix explain watch audit why upgrade clean"
    )


def test_without_a_command_the_usage_is_printed_and_the_status_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown command is rejected in the same way."""
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("usage: ./lab COMMAND")) == ("", True)
    for word in ("prove", "-k", "tests/unit"):
        with pytest.raises(SystemExit, match=r"^2$"):
            cli.main([word])
        assert "usage: ./lab COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(("program", "typed"), [("tuneproof", "tuneproof"), ("__main__.py", "./lab")])
@pytest.mark.parametrize("name", ["audit", "explain", "upgrade", "watch", "why"])
def test_examples_show_what_the_user_types(
    name: str, program: str, typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package has no ``./lab``."""
    monkeypatch.setattr(sys, "argv", [f"/opt/bin/{program}"])
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main([name, "--help"])
    examples = capsys.readouterr().out.partition("examples:")[2]
    other = {"tuneproof": "./lab", "./lab": "tuneproof "}[typed]
    assert (f"{typed} {name}" in examples, other in examples) == (True, False)


def test_the_usage_needs_only_the_standard_library() -> None:
    """``./lab --help`` works before any package is installed: -S hides the virtual environment's packages."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tuneproof.cli", "--help"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_gets_its_arguments_unchanged_and_decides_the_status(command: Callable[[Command], None]) -> None:
    seen: list[Sequence[str]] = []

    def remember(arguments: Sequence[str]) -> int:
        seen.append(arguments)
        return 7

    command(remember)
    assert cli.main(["doctor", "--help", "-k", "x y"]) == 7
    assert seen == [["--help", "-k", "x y"]]


@pytest.mark.parametrize(
    ("error", "status"), [(TuneproofError, 1), (LabError, 1), (BadInputError, 2), (CannotRunHereError, 3)]
)
def test_an_expected_failure_is_one_message_with_its_status(
    error: type[TuneproofError], status: int, command: Callable[[Command], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Sequence[str]) -> int:
        raise error("it broke", where="there", remedy="mend it")

    command(fail)
    assert cli.main(["doctor"]) == status
    assert capsys.readouterr() == ("", "lab: it broke\n  where: there\n  fix: mend it\n")


def test_a_user_without_a_home_folder_gets_the_root_folder(
    command: Callable[[Command], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In many containers, the user's id has no name, and libraries fail without a home folder."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", Mock(side_effect=KeyError))
    command(lambda _: len(str(Path.home())))
    assert cli.main(["doctor"]) == len("/")


def test_a_reader_that_stops_early_does_not_cause_an_error() -> None:
    """``./lab report | head -1`` ends quietly when head has seen enough."""
    script = (
        "import sys, types\n"
        "module = types.ModuleType('tuneproof.cli.report')\n"
        "module.main = lambda _: print('row\\n' * 100_000) or 0\n"
        "sys.modules['tuneproof.cli.report'] = module\n"
        "from tuneproof.cli.main import main\n"
        "sys.exit(main(['report']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"row\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


_INTERRUPTS_AN_IMPORT: Final = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
signal.signal(signal.SIGINT, signal.default_int_handler)
from tuneproof.cli.__main__ import installed
sys.argv[1:] = ["why", sys.argv[-1]]
sys.exit(installed())
"""


@pytest.mark.parametrize(
    ("module", "status", "message"),
    [("tuneproof.cli.main", -signal.SIGINT, ""), ("tuneproof.cli.why", cli.INTERRUPTED, "interrupted")],
)
def test_ctrl_c_while_a_command_is_loaded_shows_no_traceback(module: str, status: int, message: str) -> None:
    """Before the command line is read, the signal's default action ends the process."""
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTS_AN_IMPORT, module], cwd=CHECKOUT, check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr.strip().rpartition(": ")[2]) == (status, message)
