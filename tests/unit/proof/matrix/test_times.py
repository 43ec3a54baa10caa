"""Estimates come from earlier runs if there are any, and are the same on every machine that reads the same file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.written_results import OPTIONS, a_cell, unsupported, write
from tuneproof.errors import BadInputError
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.matrix.times import DEFAULT_SECONDS, Times, matrix_document, read_times, shards_of
from tuneproof.report.results.keys import Key

FACTOR = LOOKS[FULL][-1] / LOOKS[QUICK][-1]


def test_a_cells_own_time_takes_precedence_over_its_claims_mean_and_the_default() -> None:
    times = Times(by_cell={"s/a/nginx-1.18/bare": 10.0, "s/a/nginx-1.22/bare": 20.0, "s/other/nginx-1.22/bare": 99.0})
    assert times.seconds(Key("s", "a", "1.18", "bare"), QUICK) == 10.0
    assert times.seconds(Key("s", "a", "1.30", "bare"), QUICK) == 15.0
    assert times.seconds(Key("t", "a", "1.22", "bare"), QUICK) == DEFAULT_SECONDS
    assert times.seconds(Key("s", "", "1.22", "bare"), QUICK) == 0


def test_a_full_run_is_estimated_from_a_quick_one_and_vice_versa(tmp_path: Path) -> None:
    quick = read_times([write(tmp_path / "quick", a_cell(seconds=9.0))])
    assert quick.seconds(a_cell().key, FULL) == round(9.0 * FACTOR, 1)
    full = read_times([write(tmp_path / "full", a_cell(seconds=24.0), options=OPTIONS | {"depth": "full"})])
    assert full.seconds(a_cell().key, QUICK) == round(24.0 / FACTOR, 1)


def test_later_files_take_precedence_and_untestable_cells_have_no_time(tmp_path: Path) -> None:
    """An unmeasured cell took no time, which is not an estimate for a machine that can measure it."""
    times = read_times(
        [
            write(tmp_path / "a", a_cell("one", seconds=1.0), a_cell("two", seconds=2.0)),
            write(tmp_path / "b", a_cell("one", seconds=5.0), unsupported("two"), unsupported("three")),
            write(tmp_path / "c", a_cell("four", seconds=0.0)),
        ]
    )
    assert dict(times.by_cell) == {"stall/one/nginx-1.22/bare": 5.0, "stall/two/nginx-1.22/bare": 2.0}


def planned(*claims: str, scenario: str = "s", nginx: str = "1.22") -> list[Key]:
    return [Key(scenario, claim, nginx, "bare") for claim in claims]


def test_the_matrix_names_each_cell_with_its_time_and_shard() -> None:
    plans = [*planned("a", "b"), *planned("a", scenario="t")]
    times = Times(by_cell={"s/a/nginx-1.22/bare": 1.0, "s/b/nginx-1.22/bare": 2.0, "t/a/nginx-1.22/bare": 4.0})
    document = matrix_document(plans, times, depth=QUICK, count=2)
    assert document["cells"][1] == {
        "id": "s/b/nginx-1.22/bare",
        "scenario": "s",
        "nginx": "1.22",
        "network": "bare",
        "seconds": 2.0,
        "shard": "2/2",
    }
    assert document["shards"] == [
        {"shard": "1/2", "seconds": 4.0, "cells": 1},
        {"shard": "2/2", "seconds": 3.0, "cells": 2},
    ]


@pytest.mark.parametrize("depth", [QUICK, FULL])
@pytest.mark.parametrize("results", [True, False], ids=["timed", "not-timed"])
def test_a_printed_matrix_gives_every_shard_the_split_that_it_shows(
    tmp_path: Path, depth: str, *, results: bool
) -> None:
    """The split was made from the printed times, which are rounded."""
    plans = [
        plan
        for scenario in "abcdefg"
        for nginx in ("1.18", "1.22")
        for plan in planned("x", "y", "z", scenario=scenario, nginx=nginx)
    ]
    known = {plan.id: 0.1 + 7.77 / (index + 1) for index, plan in enumerate(plans) if index % 3}
    times = Times(by_cell=known if results else {})
    document = matrix_document(plans, times, depth=depth, count=4)
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    again = shards_of(plans, read_times([file]), depth=depth, count=4)
    assert {plan.id: f"{again[plan.lab]}/4" for plan in plans} == {
        cell["id"]: cell["shard"] for cell in document["cells"]
    }


MATRIX: dict[str, Any] = {"depth": "quick", "cells": [{"id": "a", "seconds": 1}], "shards": []}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (MATRIX | {"depth": "deep"}, "times cannot be used"),
        (MATRIX | {"cells": [{"id": "a"}]}, "times cannot be used"),
        (MATRIX | {"cells": [{"id": "a", "seconds": -1}]}, "is negative"),
        (MATRIX | {"cells": [{"id": "a", "seconds": float("nan")}]}, "NaN is not a JSON number"),
        (MATRIX | {"cells": [{"id": "a", "seconds": 10**400}]}, "times cannot be used"),
        (MATRIX | {"cells": 3}, "times cannot be used"),
        ({"cells": []}, "times cannot be used"),
        ([], "times cannot be used"),
    ],
    ids=["depth", "no-seconds", "negative", "nan", "too-large", "no-cells", "something-else", "list"],
)
def test_a_file_without_times_is_rejected(tmp_path: Path, document: object, message: str) -> None:
    """A shard that fell back to the defaults would run a different part from the one that other shards expect."""
    file = tmp_path / "times.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInputError, match=message) as raised:
        read_times([file])
    assert str(file) in raised.value.where


def test_results_with_an_unknown_depth_are_rejected(tmp_path: Path) -> None:
    """The maximum number of blocks at that depth is unknown, so times cannot be scaled to another depth."""
    with pytest.raises(BadInputError, match="the depth is none of quick, full"):
        read_times([write(tmp_path, a_cell(), options={"depth": "deep"})])
