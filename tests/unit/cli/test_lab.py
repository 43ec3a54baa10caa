"""The shell script ``lab`` in a separate folder, with a Python that only records its calls."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT

# The script records each call except those with -c, which the real Python executes. `-m venv` makes an environment
# with this script as its python; pip fails while `broken` exists.
FAKE_PYTHON = """#!/bin/sh
case "$1" in
-c) exec {python} "$@" ;;
esac
echo "$@" ${{PYTHONOPTIMIZE-}} ${{PYTHONSAFEPATH-}} >>{folder}/calls
case "$2" in
venv) rm -rf .venv; mkdir -p .venv/bin; ln -s "$(readlink -f "$0")" .venv/bin/python ;;
pip) sleep 0.2; if [ -e {folder}/broken ]; then echo "no such package"; exit 1; fi ;;
esac
"""

USAGE = "-m tuneproof.cli"
EARLY = "-m tuneproof.lab.engine.packages"
SET_UP = [
    "-m venv --clear .venv",
    "-m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements.lock",
]


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A checkout with only the files that the bootstrap uses; PATH begins with the folder of the recording python3."""

    folder: Path
    programs: Path

    def command(self, *arguments: str, under: Sequence[str] = ()) -> "subprocess.Popen[str]":
        """Start ``./lab`` from another folder, under another program if one is given."""
        return subprocess.Popen(
            [*under, self.folder / "lab", *arguments],
            cwd="/",
            env={"PATH": f"{self.programs}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, under: Sequence[str] = ()) -> tuple[int, str]:
        """Run ``./lab`` until it exits; return its exit status and what it wrote to stderr."""
        with self.command(*arguments, under=under) as process:
            _, err = process.communicate(timeout=30)
        return process.returncode, err

    def calls(self) -> list[str]:
        """Return Python's calls, and clear the record."""
        notes = self.folder / "calls"
        lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return lines


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return a checkout without an environment, in a folder with a space in its name."""
    folder = tmp_path / "a checkout"
    programs = tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    shutil.copy(CHECKOUT / "lab", folder)
    (folder / "requirements.lock").write_text("rich==1\n", encoding="utf-8")
    python = programs / "python3"
    python.write_text(FAKE_PYTHON.format(folder=f"'{folder}'", python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    return Checkout(folder=folder, programs=programs)


def test_the_first_call_makes_the_environment_and_passes_the_arguments(checkout: Checkout) -> None:
    status, err = checkout.run("run", "-k", "x")
    assert status == 0
    assert err == "lab: setting up .venv (once, and when requirements.lock changes)\n"
    calls = checkout.calls()
    assert EARLY in calls[:-1]
    assert [call for call in calls if call != EARLY] == [*SET_UP, f"{USAGE} run -k x"]


def upgraded(checkout: Checkout) -> None:
    """Put another interpreter under the same name."""
    newer = checkout.programs / "python3.99"
    shutil.copy(checkout.programs / "python3", newer)
    link = checkout.folder / ".venv/bin/python"
    link.unlink()
    link.symlink_to(newer)


@pytest.mark.parametrize(
    "damage",
    [
        lambda checkout: (checkout.folder / "requirements.lock").write_text("rich==2\n", encoding="utf-8"),
        *(
            lambda checkout, name=name: (checkout.folder / ".venv" / name).unlink()
            for name in ("bin/python", "interpreter", "requirements.lock")
        ),
        upgraded,
    ],
    ids=["changed-lock", "no-python", "no-interpreter", "no-lock", "another-interpreter"],
)
def test_an_outdated_or_broken_environment_is_made_again(
    damage: Callable[[Checkout], object], checkout: Checkout
) -> None:
    checkout.run("doctor")
    checkout.calls()
    damage(checkout)
    assert checkout.run("doctor")[0] == 0
    assert checkout.calls() == [*SET_UP, f"{USAGE} doctor"]


def test_pips_output_is_shown_after_a_failure_and_the_next_call_tries_again(checkout: Checkout) -> None:
    (checkout.folder / "broken").touch()
    status, err = checkout.run("doctor")
    assert status == 3
    assert "no such package\nlab: the packages of requirements.lock could not be installed" in err
    assert checkout.calls() == SET_UP
    (checkout.folder / "broken").unlink()
    assert checkout.run("doctor")[0] == 0
    assert checkout.calls() == [*SET_UP, f"{USAGE} doctor"]


@pytest.mark.parametrize(
    ("interpreter", "message"),
    [
        ("", "/.venv cannot be set up: you may not write there. Call ./lab once as "),
        # The owner's, below /root for example; calling ./lab as the owner would not help.
        (
            "/none/python3",
            "/.venv uses /none/python3, which is missing or which you may not run: use a clone of your own",
        ),
    ],
)
def test_a_checkout_that_the_user_may_not_write_to_is_reported(
    interpreter: str, message: str, checkout: Checkout
) -> None:
    if interpreter:
        (checkout.folder / ".venv").mkdir()
        (checkout.folder / ".venv/interpreter").write_text(f"{interpreter}\n", encoding="utf-8")
    checkout.folder.chmod(0o555)
    # root may write everywhere unless it gives up CAP_DAC_OVERRIDE.
    under = () if os.getuid() else ("setpriv", "--bounding-set=-dac_override")
    status, err = checkout.run("doctor", under=under)
    assert status == 3
    assert message in err
    assert checkout.calls() == []


def test_variables_with_which_python_would_fail_are_removed(checkout: Checkout) -> None:
    under = ("env", "PYTHONHOME=/none", "PYTHONOPTIMIZE=2", "PYTHONSAFEPATH=1")
    assert checkout.run("doctor", under=under)[0] == 0
    assert checkout.calls() == [*SET_UP, f"{USAGE} doctor"]


def test_a_removed_folder_is_reported(checkout: Checkout, tmp_path: Path) -> None:
    (removed := tmp_path / "removed").mkdir()
    status, err = checkout.run("doctor", under=("sh", "-c", f'cd "{removed}"; rmdir "{removed}"; exec "$@"', "sh"))
    assert status == 3
    assert err.endswith("lab: the current folder was removed: change to another one\n")
    assert checkout.calls() == []


def test_two_simultaneous_calls_make_the_environment_once(checkout: Checkout) -> None:
    with checkout.command("doctor") as first, checkout.command("doctor") as second:
        first.communicate(timeout=30)
        second.communicate(timeout=30)
    assert (first.returncode, second.returncode) == (0, 0)
    assert checkout.calls() == [*SET_UP, f"{USAGE} doctor", f"{USAGE} doctor"]


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_printing_the_usage_installs_nothing(arguments: tuple[str, ...], checkout: Checkout) -> None:
    assert checkout.run(*arguments) == (0, "")
    assert checkout.calls() == [" ".join([USAGE, *arguments])]


def test_a_link_to_lab_works_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    link = tmp_path / "programs" / "tuneproof"
    link.symlink_to(checkout.folder / "lab")
    done = subprocess.run(
        [link, "doctor"], cwd="/", env={"PATH": f"{checkout.programs}:/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert checkout.calls()[-1] == f"{USAGE} doctor"


def test_an_old_python_gives_one_message(checkout: Checkout) -> None:
    programs = checkout.programs / "old"
    programs.mkdir()
    for name in ("sh", "readlink", "dirname", "cmp"):
        (programs / name).symlink_to(shutil.which(name) or name)
    python = programs / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n', encoding="utf-8")
    python.chmod(0o755)
    done = subprocess.run(
        [checkout.folder / "lab", "run"], env={"PATH": str(programs)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("lab: needs Python 3.11 or later; found: Python 3.9.2.")
    assert not (checkout.folder / ".venv").exists()


@pytest.fixture
def bare_python(checkout: Checkout) -> Path:
    """Make the recording Python lack ensurepip until ``apt-get install`` succeeds; return a fake ``id``."""
    complete = checkout.programs / "complete"
    python = checkout.programs / "python3"
    lines = python.read_text(encoding="utf-8").splitlines()
    lines.insert(1, f"case \"$2\" in *ensurepip*) [ -e '{complete}' ]; exit ;; esac")
    python.write_text("\n".join(lines), encoding="utf-8")
    apt_get = checkout.programs / "apt-get"
    # The first installation fails, as on a machine without package lists.
    apt_get.write_text(
        f"#!/bin/sh\necho apt-get \"$@\" >>'{checkout.folder}/calls'\n"
        f"case \"$1\" in update) touch '{complete}.lists' ;;\n"
        f"*) [ -e '{complete}.lists' ] && touch '{complete}' ;; esac\n",
        encoding="utf-8",
    )
    apt_get.chmod(0o755)
    identity = checkout.programs / "id"
    identity.write_text("#!/bin/sh\necho 0\n", encoding="utf-8")
    identity.chmod(0o755)
    return identity


@pytest.mark.usefixtures("bare_python")
def test_root_on_debian_gets_the_missing_part_of_python(checkout: Checkout) -> None:
    """The package's name contains the version of the Python that is used; the package lists are fetched if needed."""
    status, err = checkout.run("doctor")
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    assert (status, err.splitlines()[0]) == (0, f"lab: installing {package}")
    install = f"apt-get install -qq -y --no-install-recommends {package}"
    assert checkout.calls() == [install, "apt-get update -qq", install, *SET_UP, f"{USAGE} doctor"]


def test_an_ordinary_user_sees_which_part_of_python_is_missing(checkout: Checkout, bare_python: Path) -> None:
    bare_python.write_text("#!/bin/sh\necho 1000\n", encoding="utf-8")
    status, err = checkout.run("doctor")
    assert status == 3
    assert err.startswith(
        "lab: python3 cannot make virtual environments; on Debian or Ubuntu, as root: apt-get install"
    )
    assert checkout.calls() == []
