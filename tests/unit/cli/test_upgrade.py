"""``./lab upgrade --prove``, as far as nothing is started."""

from pathlib import Path

import pytest

from tests.support.command_line import Lab
from tuneproof.cli import upgrade_proof
from tuneproof.errors import EngineUnavailableError

CONF = "events { }\nhttp { server { listen 80; location / { return 200; } } }\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A configuration that starts."""
    path = tmp_path / "nginx.conf"
    path.write_text(CONF, encoding="utf-8")
    return path


def test_a_version_that_the_lab_lacks_is_an_error_that_names_the_way_out(lab: Lab, conf: Path) -> None:
    """Though the files could be compared for it."""
    assert lab("upgrade", "--from", "1.25", "--to", "1.30", conf).status == 0
    ended = lab("upgrade", "--from", "1.25", "--to", "1.30", "--prove", conf)
    assert ended.status == 2
    assert "--from 1.25 --prove: the lab has 1.18, 1.22, 1.26, 1.30" in ended.err
    assert "--from-image IMAGE" in ended.err
    assert lab("upgrade", "--from", "1.22", "--to", "1.30", "--prove", "--seed", "-1", conf).status == 2


def test_a_dead_engine_is_one_error(lab: Lab, conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told of the files before."""

    def dead(**_options: object) -> None:
        raise EngineUnavailableError("No Docker engine answers: gone.")

    monkeypatch.setattr(upgrade_proof, "ensure_engine", dead)
    ended = lab("upgrade", "--from", "1.22", "--to", "1.30", "--prove", conf)
    assert (ended.status, ended.out) == (3, "")
    assert ended.err == "lab: No Docker engine answers: gone.\n"
