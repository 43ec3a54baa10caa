"""A user in the engine's group needs no other privileges; test_bad_input.py tests an engine over TCP."""

import os
import stat
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.lab.children import COUNTED_RUN, GONE_WITHIN_S, start_pytest
from tests.support.places import CHECKOUT
from tuneproof.lab.engine.reach import find_endpoint

pytestmark = [pytest.mark.engine, pytest.mark.timing, pytest.mark.slow]

_NOBODY = 65534


def test_a_user_in_the_engines_group_gets_the_expected_verdict(tmp_path: Path) -> None:
    """The user nobody has no capabilities, and is in no other group than the socket's."""
    address = find_endpoint().address
    if os.geteuid() != 0:
        pytest.skip("only root can start a run as another user")
    if not address.startswith("unix://"):
        pytest.skip(f"the engine at {address} has no socket with a group")
    if not _readable_by_others(CHECKOUT):
        pytest.skip(f"other users may not read {CHECKOUT}")
    interpreter = next((path for path in _interpreters() if _readable_by_others(path.resolve())), None)
    if interpreter is None:
        pytest.skip(f"other users may not run {sys.executable}, and there is no other Python of this version")
    socket = Path(address.removeprefix("unix://")).stat()
    if not socket.st_mode & stat.S_IWGRP or socket.st_gid == 0:
        pytest.skip("the engine's socket has no group of its own that may write to it")
    results = tmp_path / "results"
    results.mkdir()
    os.chown(results, _NOBODY, _NOBODY)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    child = start_pytest(
        *COUNTED_RUN,
        results=results,
        environment={"HOME": "/nonexistent", "PYTHONPATH": sysconfig.get_path("purelib")},
        interpreter=interpreter,
        user=_NOBODY,
        group=socket.st_gid,
        extra_groups=[],
    )
    output, _ = child.communicate(timeout=2 * GONE_WITHIN_S)
    assert child.returncode == 0, output
    assert "1 passed" in output


def _interpreters() -> list[Path]:
    """Return this interpreter and the distribution's of the same version; other users may have no access to this."""
    return [Path(sys.executable), Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")]


def _readable_by_others(folder: Path) -> bool:
    return folder.exists() and all(part.stat().st_mode & stat.S_IXOTH for part in (folder, *folder.parents))
