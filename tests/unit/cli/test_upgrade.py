"""``./lab upgrade --prove``, without containers."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.command_line import Lab
from tuneproof.cli import upgrade_proof
from tuneproof.cli.output import CALLED_FROM
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.labels import Session
from tuneproof.proof.scenario.containers import BenchImages
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.report.results.run_file import load
from tuneproof.yours.compared import compared
from tuneproof.yours.grounds import Grounds
from tuneproof.yours.two_versions import Compared

CONF = "events { }\nhttp { server { listen 80; location / { return 200; } } }\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Return a configuration with which nginx starts."""
    path = tmp_path / "nginx.conf"
    path.write_text(CONF, encoding="utf-8")
    return path


def test_a_version_that_the_lab_lacks_is_an_error_with_a_remedy(lab: Lab, conf: Path) -> None:
    """Without --prove, the files can be compared for that version. A negative seed is an error, too."""
    assert lab("upgrade", "--from", "1.25", "--to", "1.30", conf).status == 0
    ended = lab("upgrade", "--from", "1.25", "--to", "1.30", "--prove", conf)
    assert ended.status == 2
    assert "--from 1.25 --prove: the lab has 1.18, 1.22, 1.26, 1.30, 1.31" in ended.err
    assert "--from-image IMAGE" in ended.err
    assert lab("upgrade", "--from", "1.22", "--to", "1.30", "--prove", "--seed", "-1", conf).status == 2


@pytest.mark.parametrize("option", ["--host=a.example", "--location=/a", "--trust", "--seed=0", "--results=r"])
def test_an_option_for_the_lab_without_prove_is_an_error(lab: Lab, conf: Path, option: str) -> None:
    ended = lab("upgrade", "--from", "1.22", "--to", "1.30", option, conf)
    assert (ended.status, ended.out) == (2, "")
    name = option.partition("=")[0]
    assert ended.err == f"lab: {name} has no effect without --prove\n  fix: add --prove, or leave out {name}\n"


def test_a_dead_engine_gives_one_error(lab: Lab, conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report on the files is not printed before the error."""

    def dead(**_options: object) -> None:
        raise EngineUnavailableError("No Docker engine answers: gone.")

    monkeypatch.setattr(upgrade_proof, "ensure_engine", dead)
    ended = lab("upgrade", "--from", "1.22", "--to", "1.30", "--prove", conf)
    assert (ended.status, ended.out) == (3, "")
    assert ended.err == "lab: No Docker engine answers: gone.\n"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Compared]:
    """Set the result of the next comparison, without an engine."""
    results: list[Compared] = []

    @contextmanager
    def grounds(_client: object, *, packages: dict[str, Any], report: object, trusts: bool) -> Iterator[Grounds]:
        assert report is not None
        assert not trusts
        yield Grounds(
            session=Session(),
            images=BenchImages(subject="", backend="b", client="c", netadmin="n"),
            subjects={version: f"subject:{version}" for version in packages},
            placement=CpuPlacement(subject="0", others="1"),
            host={},
        )

    monkeypatch.setattr(upgrade_proof, "ensure_engine", lambda **_options: None)
    monkeypatch.setattr(upgrade_proof, "connect", lambda **_options: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(upgrade_proof, "grounds", grounds)
    monkeypatch.setattr(upgrade_proof, "compare", lambda *_sides, **_more: results[0])
    monkeypatch.setattr(signal, "signal", lambda *_handler: None)
    return results


def test_differences_come_after_the_report_on_the_files(
    lab: Lab, conf: Path, tmp_path: Path, found: list[Compared]
) -> None:
    """The output contains the number of comparisons, the seed, and what could not be compared."""
    comparisons = compared("http://a/", [{"status: 200": 3.0}] * 5, [{"status: 400": 3.0}] * 5)
    found.append(Compared(comparisons=tuple(comparisons), void={"http://b/": "no answer"}))
    words = ("upgrade", "--from", "1.22", "--to", "1.30", "--prove", "--results", tmp_path, "--seed", 7, conf)
    ended = lab(*words)
    assert ended.status == 0
    assert ended.out.startswith("From nginx 1.22 to 1.30: 2 changes affect these files.")
    assert (
        "nginx 1.22 and 1.30 side by side on these files: 1 comparison in 5 rounds, --seed 7\n\n"
        "status: 200 -> 400\n  at http://a/\n\na comparison at http://b/ was not possible: no answer\n"
    ) in ended.out
    results = load(tmp_path / "latest")
    assert (results.seed, results.finished) == (7, True)
    document = json.loads(lab(*words, "--json").out)
    assert document["starts"] is True
    assert document["proof"]["differences"] == [{"at": "http://a/", "what": "status", "before": "200", "after": "400"}]


def test_a_relative_path_is_read_from_the_users_folder(
    lab: Lab, conf: Path, tmp_path: Path, found: list[Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``./lab`` runs in the checkout, wherever the user called it."""
    monkeypatch.setenv(CALLED_FROM, str(tmp_path))
    found.append(Compared(comparisons=tuple(compared("a", [{"status: 200": 3.0}] * 5, [{"status: 200": 3.0}] * 5))))
    words = ("upgrade", "--from", "1.26", "--to", "1.26", "--prove", "--results", tmp_path / "r")
    assert lab(*words, conf.name).status == 0


def test_locations_that_were_not_compared_are_named(lab: Lab, tmp_path: Path, found: list[Compared]) -> None:
    """One location of each of six kinds is compared. A seventh kind, a second one of a kind, and gRPC are left out."""
    kinds = "\n".join(f"location /k{number}/ {{ proxy_pass http://10.0.0.{number}; }}" for number in range(7))
    others = "location /twin/ { proxy_pass http://10.0.0.1; }\nlocation /g/ { grpc_pass 10.0.0.9:1; }"
    (tmp_path / "a.conf").write_text(f"events {{ }}\nhttp {{ server {{\n{kinds}\n{others} }} }}\n", encoding="utf-8")
    found.append(Compared(comparisons=tuple(compared("a", [{"status: 200": 3.0}] * 5, [{"status: 200": 3.0}] * 5))))
    words = ("upgrade", "--from", "1.26", "--to", "1.26", "--prove", "--results", tmp_path / "r", tmp_path / "a.conf")
    file = tmp_path / "a.conf"
    expected = {
        f"{file}:11, location /g/": "the lab's stand-ins do not speak gRPC",
        f"{file}:9, location /k6/": "6 other kinds of locations were; for this one: --location /k6/",
        f"{file}:10, location /twin/": "a location with the same settings was",
    }
    title = "Upstream connections, caches and slow readers were not compared at:"
    out = lab(*words).out
    assert "no difference found in 1 comparison" in out
    assert "\n".join([title, *(f"  {place}: {why}" for place, why in expected.items())]) in out
    assert json.loads(lab(*words, "--json").out)["proof"]["not_compared"] == expected


@pytest.mark.parametrize(
    ("refused", "status", "words"),
    [
        (("", "unknown directive"), 1, "starts: yes -> no\n  1.30: unknown directive"),
        (("unknown directive", ""), 0, "starts: no -> yes\n  1.22: unknown directive"),
        (("a", "b"), 2, "neither version starts with these files in the lab"),
    ],
)
def test_a_version_that_does_not_start_is_the_only_difference(
    lab: Lab, conf: Path, tmp_path: Path, found: list[Compared], refused: tuple[str, str], status: int, words: str
) -> None:
    """The output contains nginx's message if one version starts. The command fails unless the new version starts."""
    found.append(Compared(refused=refused))
    ended = lab("upgrade", "--from", "1.22", "--to", "1.30", "--prove", "--results", tmp_path, conf)
    assert ended.status == status
    assert words in ended.out + ended.err
