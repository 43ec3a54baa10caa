"""Results that fit together are merged into one document."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.written_results import HOST, OPTIONS, a_cell, unsupported, written
from tuneproof.errors import BadInputError
from tuneproof.report.results.documents import Results
from tuneproof.report.results.merging import common_facts, merge, missing_shards, remarks


def shard(name: str, split: str = "ab") -> dict[str, Any]:
    return OPTIONS | {"shard": name, "shard_split": split}


def test_merged_shards_have_all_cells_in_the_given_order(tmp_path: Path) -> None:
    """Verdicts are not decided again."""
    one = written(tmp_path / "a", a_cell("one"), a_cell("two"), options=shard("1/2"))
    other = written(tmp_path / "b", unsupported("three"), options=shard("2/2"), started="2026-11-20T08:00:00Z")
    merged = merge([one, other])
    assert merged.cells == (*one.cells, *other.cells)
    assert (merged.seconds, merged.finished, merged.seed) == (120.0, True, 7)
    assert merged.to_json()["finished"] is True
    assert merged.started == "2026-11-20T08:00:00Z"
    assert merged.options == OPTIONS | {"shard_split": "ab"}
    assert [(run.cells, run.path) for run in merged.runs] == [
        (("stall/one/nginx-1.22/bare", "stall/two/nginx-1.22/bare"), str(tmp_path / "a/results.json")),
        (("stall/three/nginx-1.22/bare",), str(tmp_path / "b/results.json")),
    ]
    assert remarks(merged) == ()
    own = (replace(merged.runs[0], seed=9), replace(merged.runs[1], seed=None))
    assert [run.seed for run in replace(merged, runs=own).parts] == [9, 7]


def test_a_single_run_is_not_changed_and_merging_no_runs_is_an_error(tmp_path: Path) -> None:
    """A report of one run does not mention merging."""
    only = written(tmp_path, a_cell())
    assert merge([only]) is only
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([])


def test_every_machine_is_recorded_along_with_their_common_facts(tmp_path: Path) -> None:
    """Sysctls are compared one by one; an idle shard has no machine. Merged results can be merged again."""
    other_host = HOST | {"kernel": "6.8", "sysctls": HOST["sysctls"] | {"net.ipv4.tcp_congestion_control": "bbr"}}
    runs = [
        written(tmp_path / "a", a_cell("one"), options=OPTIONS | {"network": ["bare", "wan"]}),
        written(tmp_path / "b", a_cell("two"), host=other_host, options=OPTIONS | {"nginx": ["1.30"]}),
        written(tmp_path / "c", host={}),
    ]
    merged = merge(runs)
    assert merge([merge(runs[:2]), runs[2]]) == merged
    assert [run.host for run in merged.runs] == [HOST, other_host, {}]
    assert "kernel" not in merged.host
    assert merged.host["cpu_model"] == "A processor"
    assert merged.host["sysctls"] == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}
    assert (merged.options["nginx"], merged.options["network"]) == (["1.22", "1.30"], ["bare", "wan"])


def test_a_repeated_cell_is_rejected_with_its_files(tmp_path: Path) -> None:
    """A report must not choose which verdict counts."""
    one = written(tmp_path / "a", a_cell("one"), a_cell("two"))
    other = written(tmp_path / "b", a_cell("two", verdict="refuted"), a_cell("one"))
    with pytest.raises(BadInputError) as raised:
        merge([one, other])
    assert raised.value.what.startswith("The result stall/two/nginx-1.22/bare occurs twice, and 1 more: ")
    assert raised.value.where == f"{one.path} and {other.path}"
    assert "./lab compare" in raised.value.remedy
    for rest in ([], [written(tmp_path / "d", a_cell("other"))]):
        with pytest.raises(BadInputError, match="occurs twice:"):
            merge([written(tmp_path / "c", a_cell(), a_cell()), *rest])


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 8}, "seed is 7 here and 8 there"),
        ({"options": OPTIONS | {"depth": "full"}}, "depth is quick here and full there"),
        ({"options": OPTIONS | {"shaper": "wire"}}, "shaper is auto here and wire there"),
        ({"options": OPTIONS | {"version": "2"}}, "version is nothing here and 2 there"),
        ({"options": shard("2/3")}, "shard_split is nothing here and ab there"),
    ],
    ids=["seed", "depth", "shaper", "unknown-option", "shard-and-whole"],
)
def test_runs_with_different_rules_are_rejected(tmp_path: Path, changes: dict[str, Any], difference: str) -> None:
    """All verdicts in one table must follow the same rules."""
    one = written(tmp_path / "a", a_cell("one"))
    other = written(tmp_path / "b", a_cell("two"), **changes)
    with pytest.raises(BadInputError) as raised:
        merge([one, other])
    assert difference in raised.value.what
    assert raised.value.where == f"{one.path} and {other.path}"


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    """Nothing else would show that the table is incomplete."""
    assert remarks(written(tmp_path / "1", a_cell(), options=shard("1/2"))) == (
        "Not all shards are here; missing: 2/2.",
    )
    whole = [written(tmp_path / name, a_cell(name)) for name in "ab"]
    assert missing_shards(whole[0]) == missing_shards(merge(whole)) == ()
    merged = merge([written(tmp_path / name, a_cell(name), options=shard(f"{name}/4")) for name in "24"])
    assert missing_shards(merged) == ("1/4", "3/4")
    assert remarks(merged) == ("Not all shards are here; missing: 1/4, 3/4.",)


def test_a_shard_of_named_cells_fits_the_others_but_is_incomplete(tmp_path: Path) -> None:
    """Such a shard has the same split as the others, but its remaining cells may be missing."""
    some = shard("2/2") | {"cell": ["stall/b/nginx-1.22/bare"]}
    parts = [
        written(tmp_path / "a", a_cell("a"), options=shard("1/2")),
        written(tmp_path / "b", a_cell("b"), options=some),
    ]
    merged = merge(parts)
    assert merged.options == OPTIONS | {"shard_split": "ab"}
    assert missing_shards(merged) == ("2/2",)
    whole = written(tmp_path / "c", a_cell("c"), options=shard("2/2"))
    assert missing_shards(merge([*parts, whole])) == ()


def test_an_interrupted_run_makes_the_merged_one_unfinished(tmp_path: Path) -> None:
    """The run's time is unknown, and so is the sum; the remark names the interrupted run."""
    one = written(tmp_path / "a", a_cell("one"))
    cut = written(tmp_path / "b", a_cell("two"), finished=None, seconds=None)
    merged = merge([one, cut])
    assert (merged.finished, merged.seconds) == (False, None)
    assert ("finished" in merged.to_json(), "finished" in merge([cut]).to_json()) == (False, False)
    assert remarks(merged) == (
        f"Interrupted, or still running: 1 result so far ({cut.path}, started 2026-11-20T09:36:16Z).",
    )
    assert remarks(cut) == ("Interrupted, or still running: 1 result so far.",)


def test_facts_that_only_one_machine_has_are_not_common() -> None:
    """For example, a machine without Linux has no sysctls, and an older file may record them differently."""
    first = {"kernel": "6.1", "sysctls": {"a": "1", "b": "2"}}
    for other in ({"kernel": "6.1"}, {"kernel": "6.1", "sysctls": "unknown"}):
        assert common_facts([first, other]) == common_facts([other, first]) == {"kernel": "6.1"}
    assert common_facts([first, {"sysctls": {"a": "1"}}]) == {"sysctls": {"a": "1"}}


def run_of(number: int, claims: list[str], seconds: float | None) -> Results:
    return Results(
        host=HOST | {"kernel": f"6.{number}"},
        seed=7,
        options=OPTIONS | {"nginx": [f"1.{number}"]},
        cells=tuple(a_cell(claim) for claim in claims),
        schema=1,
        seconds=seconds,
        finished=seconds is not None,
        path=Path(f"{number}/results.json"),
        started=f"2026-11-{20 - number}T09:36:16Z",
    )


RUNS = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=3, unique=True), st.none() | st.integers(0, 99)),
    min_size=2,
    max_size=5,
).map(lambda runs: [run_of(number, *run) for number, run in enumerate(runs)])


@settings(max_examples=40, database=None, derandomize=True)
@given(RUNS, st.data())
def test_merging_in_any_steps_keeps_every_cell_once(runs: list[Results], data: st.DataObject) -> None:
    cells = [cell for run in runs for cell in run.cells]
    cut = data.draw(st.integers(1, len(runs) - 1))
    if len({cell.id for cell in cells}) < len(cells):
        with pytest.raises(BadInputError, match="occurs twice"):
            merge(runs)
        return
    merged = merge(runs)
    assert list(merged.cells) == cells
    assert [cell for run in merged.runs for cell in run.cells] == [cell.id for cell in cells]
    assert merged.finished == all(run.finished for run in runs)
    assert merged.seconds == (sum(run.seconds or 0 for run in runs) if merged.finished else None)
    assert merged.options["nginx"] == [f"1.{number}" for number in range(len(runs))]
    assert merge([merge(runs[:cut]), merge(runs[cut:])]) == merged
