"""Two runs side by side: only a changed verdict is a change, and runs without a common cell cannot be compared."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.written_results import HOST, OPTIONS, a_cell, ratio, unsupported, written
from tuneproof.errors import BadInputError
from tuneproof.report.results.cells import Effect
from tuneproof.report.results.comparing import Fact, Pair, compare
from tuneproof.report.results.documents import Results
from tuneproof.report.results.merging import merge
from tuneproof.report.terminal.comparison_text import render_comparison


@pytest.mark.parametrize("cells", [(), (a_cell("one"), unsupported("two"))], ids=["empty", "two-cells"])
def test_a_run_compared_with_itself_shows_no_change(tmp_path: Path, cells: tuple[Any, ...]) -> None:
    run = written(tmp_path, *cells)
    comparison = compare(run, run)
    assert (comparison.changed, comparison.only_old, comparison.only_new) == ((), (), ())
    assert len(comparison.pairs) == len(cells)
    assert [fact for fact in comparison.facts if fact.old != fact.new] == []
    text = render_comparison(comparison, width=None, color=False)
    assert ("| result" in text) == bool(cells)
    assert text.splitlines()[-1].startswith(f"No verdict changed: {len(cells)} results are in both runs")


def test_at_most_twenty_results_in_only_one_run_are_listed(tmp_path: Path) -> None:
    """A run of one claim may be compared with the results of all claims."""
    old = written(tmp_path / "old", a_cell("both"), *(a_cell(f"claim{number}") for number in range(23)))
    text = render_comparison(compare(old, written(tmp_path / "new", a_cell("both"))), width=None, color=False)
    assert text.count("only in the old: stall/claim") == 20
    assert "only in the old: 3 more (--json lists all)\n" in text
    assert "1 result is in both runs, 23 only in the old run" in text


def test_only_a_changed_verdict_is_a_change(tmp_path: Path) -> None:
    """A cell in only one run is listed separately; figures have full precision, as in results.json."""
    old = written(tmp_path / "old", a_cell("same"), a_cell("changed"), a_cell("removed"))
    new = written(
        tmp_path / "new",
        a_cell("same", effect=ratio(150.0, 110.0, 200.0)),
        a_cell("changed", verdict="refuted", effect=ratio(1.1, 0.9, 1.3)),
        a_cell("added"),
        host=HOST | {"kernel": "6.8"},
    )
    comparison = compare(old, new)
    document = json.loads(json.dumps(comparison.to_json()))
    (changed,) = document["changed"]
    assert (changed["id"], changed["old"]["effect"]["value"]) == ("stall/changed/nginx-1.22/bare", 134.0)
    assert (changed["new"]["verdict"], changed["new"]["effect"]["ci_high"]) == ("refuted", 1.3)
    assert [pair["id"] for pair in document["same"]] == ["stall/same/nginx-1.22/bare"]
    assert [cell["id"] for cell in document["only_old"]] == ["stall/removed/nginx-1.22/bare"]
    assert [cell["id"] for cell in document["only_new"]] == ["stall/added/nginx-1.22/bare"]
    assert [(fact["name"], fact["old"], fact["new"]) for fact in document["facts"] if fact["old"] != fact["new"]] == [
        ("kernel", "6.1.0-18", "6.8")
    ]
    text = render_comparison(comparison, width=120, color=True)
    assert "\x1b[31m" in text
    assert "CHANGED" in text


SHARE = Effect(name="slow", unit="share", value=0.1, ci_low=0.0, ci_high=200.0)


@pytest.mark.parametrize(
    ("changes", "intervals"),
    [
        ({"effect": ratio(190.0, 180.0, 200.0)}, "overlap"),
        ({"effect": ratio(190.0, 180.1, 200.0)}, "apart"),
        ({"effect": ratio(97.0, 90.0, 97.9)}, "apart"),
        ({"effect": SHARE}, "not comparable"),
        ({"effect": None, "verdict": "unsupported", "reason": "one CPU"}, "not comparable"),
    ],
    ids=["touching", "above", "below", "other-unit", "none"],
)
def test_intervals_overlap_if_they_have_a_value_in_common(changes: dict[str, Any], intervals: str) -> None:
    """One of the two intervals is 98 to 180; their order does not matter."""
    assert Pair(old=a_cell(), new=a_cell(**changes)).intervals == intervals
    assert Pair(old=a_cell(**changes), new=a_cell()).intervals == intervals


def test_a_repeated_cell_in_one_file_is_rejected(tmp_path: Path) -> None:
    """The choice of which cell to compare would be arbitrary."""
    with pytest.raises(BadInputError, match="occurs twice"):
        compare(written(tmp_path / "old", a_cell(), a_cell()), written(tmp_path / "new", a_cell()))


def test_the_machines_of_merged_results_are_all_named(tmp_path: Path) -> None:
    """A value that one side lacks is shown as not recorded."""
    parts = [
        written(tmp_path / name, a_cell(name), host=HOST | {"kernel": kernel})
        for name, kernel in (("a", "5.15"), ("b", "6.8"), ("c", "5.15"))
    ]
    nothing = written(tmp_path / "d", a_cell("a"), host={}, options={})
    for old, kernel in ((merge(parts), "5.15 | 6.8"), (nothing, "not recorded")):
        facts = compare(old, parts[0]).facts
        assert [fact for fact in facts if fact.name == "kernel"] == [Fact(name="kernel", old=kernel, new="5.15")]
    assert ("options.nginx", "1.22") in [(fact.name, fact.new) for fact in facts]


DECIDED = st.builds(
    lambda verdict, low, wide, unit: {
        "verdict": verdict,
        "effect": Effect(name="slow", unit=unit, value=low, ci_low=low, ci_high=low + wide),
    },
    st.sampled_from(["holds", "refuted"]),
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from(["ratio", "share"]),
)
RESULTS = st.dictionaries(st.sampled_from("abcdef"), DECIDED, max_size=4).map(
    lambda cells: Results(
        host=HOST,
        seed=7,
        options=OPTIONS,
        cells=tuple(a_cell(claim, **changes) for claim, changes in cells.items()),
        schema=1,
        seconds=1.0,
        finished=True,
        path=Path("results.json"),
        started="2026-11-20T09:36:16Z",
    )
)


@settings(max_examples=40, database=None, derandomize=True)
@given(RESULTS, RESULTS)
def test_a_comparison_contains_every_cell_once_and_is_symmetric(old: Results, new: Results) -> None:
    """Reversing the order only swaps old and new."""
    ids = [{cell.id for cell in results.cells} for results in (old, new)]
    if not ids[0] & ids[1]:
        if ids[0] | ids[1]:
            with pytest.raises(BadInputError, match="no result in common"):
                compare(old, new)
        return
    there, back = compare(old, new), compare(new, old)
    for comparison, (first, second) in ((there, ids), (back, ids[::-1])):
        assert sorted(pair.old.id for pair in comparison.pairs) == sorted(first & second)
        assert {cell.id for cell in comparison.only_old} == first - second
        assert {cell.id for cell in comparison.only_new} == second - first
        changes = [pair.changed for pair in comparison.pairs]
        assert changes == sorted(changes, reverse=True)
    assert {pair.old.id: (pair.changed, pair.intervals) for pair in there.pairs} == {
        pair.old.id: (pair.changed, pair.intervals) for pair in back.pairs
    }
    for pair in there.pairs:
        ends = [(effect.ci_low, effect.ci_high) for effect in (pair.old.effect, pair.new.effect) if effect]
        shared = {*range(int(ends[0][0]), int(ends[0][1]) + 1)} & {*range(int(ends[1][0]), int(ends[1][1]) + 1)}
        assert pair.old.effect is not None
        assert pair.new.effect is not None
        same_unit = pair.old.effect.unit == pair.new.effect.unit
        assert pair.intervals == (("overlap" if shared else "apart") if same_unit else "not comparable")
