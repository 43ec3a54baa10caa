"""``./lab matrix`` on the project's own scenarios: nothing is run, and what is printed is what a run would decide."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import CHECKOUT
from tests.support.written_results import a_cell, write
from tuneproof.catalogue import every_advice


def lab(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run ``./lab`` in a process of its own: pytest is not collected inside of pytest."""
    return subprocess.run(
        [sys.executable, "-m", "tuneproof.cli", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


def matrix(*arguments: str) -> dict[str, Any]:
    done = lab("matrix", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_matrix_has_every_claim_on_every_version_and_network(tmp_path: Path) -> None:
    known = a_cell("loaded_worker_stalls", scenario="reuseport_stall", nginx="1.30", seconds=123.4)
    earlier = str(write(tmp_path, known))
    document = matrix("--shards", "3", "--nginx", "1.18", "--nginx", "1.30", "--network", "wan", "--results", earlier)
    cells = document["cells"]
    ids = [cell["id"] for cell in cells]
    assert len(ids) == len(set(ids))
    assert {cell["nginx"] for cell in cells} == {"1.18", "1.30"}
    assert {cell["network"] for cell in cells} == {"wan"}
    assert {cell["shard"] for cell in cells} == {"1/3", "2/3", "3/3"}
    times = {cell["id"]: cell["seconds"] for cell in cells}
    assert times["reuseport_stall/loaded_worker_stalls/nginx-1.30/wan"] == 123.4
    assert [shard["shard"] for shard in document["shards"]] == ["1/3", "2/3", "3/3"]
    assert sum(shard["cells"] for shard in document["shards"]) == len(cells)


def test_what_goes_to_pytest_selects_cells(tmp_path: Path) -> None:
    """The same words as for a run; the depth is in the matrix, because the times depend on it."""
    earlier = str(write(tmp_path, a_cell()))
    chosen = ("-k", "loaded_worker_stalls", "--nginx", "1.22", "--depth", "full")
    document = matrix(*chosen, "--results", earlier)
    assert [cell["id"] for cell in document["cells"]] == ["reuseport_stall/loaded_worker_stalls/nginx-1.22/bare"]
    assert document["depth"] == "full"


def test_headlines_can_be_had_alone() -> None:
    cells = matrix("-m", "headline")["cells"]
    assert {cell["id"].split("/")[1] for cell in cells} == {
        claim for advice in every_advice() for claim in advice.headlines
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shards", "0"], "lab: --shards 0: not a number of shards"),
        (["--nginx", "9"], "lab: --nginx 9: no such version"),
        (["--network", "moon"], "lab: --network moon: no such network"),
        (["--depth", "deep"], "invalid choice: 'deep'"),
        (["-k", "no_such_claim"], "lab: These arguments select no cell."),
        (["--results", "none"], "lab: Results cannot be read"),
    ],
    ids=["shards", "nginx", "network", "depth", "nothing", "results"],
)
def test_wrong_arguments_are_bad_input(arguments: list[str], message: str) -> None:
    """Nothing is printed that a CI server could take for a matrix."""
    done = lab("matrix", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
