"""``./lab matrix`` prints the results that a run would have, and runs nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Lab
from tests.support.written_results import a_cell, write


def matrix(lab: Lab, *arguments: object) -> dict[str, Any]:
    status, out, err = lab("matrix", *arguments)
    assert (status, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    return document


def test_the_matrix_contains_the_requested_versions_networks_and_shards(lab: Lab, tmp_path: Path) -> None:
    known = a_cell("loaded_worker_stalls", scenario="reuseport_stall", nginx="1.30", seconds=123.4)
    earlier = str(write(tmp_path, known))
    document = matrix(
        lab, "--shards", "3", "--nginx", "1.18", "--nginx", "1.30", "--network", "wan", "--results", earlier
    )
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


def test_pytest_arguments_select_cells(lab: Lab, tmp_path: Path) -> None:
    """The arguments are those of a run; the depth is in the matrix, because the times depend on it."""
    earlier = str(write(tmp_path, a_cell()))
    chosen = ("-k", "loaded_worker_stalls", "--nginx", "1.22", "--depth", "full")
    document = matrix(lab, *chosen, "--results", earlier)
    assert [cell["id"] for cell in document["cells"]] == ["reuseport_stall/loaded_worker_stalls/nginx-1.22/bare"]
    assert document["depth"] == "full"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shards", "0"], "lab: --shards 0: not a number of shards"),
        (["--shards", "1001"], "lab: --shards 1001: not a number of shards\n  fix: give a whole number from 1 to 1000"),
        (["-k", "no_such_claim"], "lab: These arguments select no results."),
        (["--results", "none"], "lab: Results cannot be read"),
    ],
    ids=["no-shards", "too-many-shards", "nothing", "results"],
)
def test_wrong_arguments_are_bad_input(lab: Lab, arguments: list[str], message: str) -> None:
    """The command prints nothing that a CI server could take for a matrix."""
    status, out, err = lab("matrix", *arguments)
    assert (status, out, message in err) == (2, "", True)
