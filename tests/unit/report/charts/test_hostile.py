"""Evidence from strangers or older versions leads to fewer charts, never to an error."""

import json
import random
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]  # plotly ships no type information
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.canned_charts import cell, files, http, memory, names, stall, storm, trial
from tuneproof.report.charts import MOST_BYTES, Chart, charts
from tuneproof.report.results.cells import Dose

TURNS = {"workers": [{"pid": 11, "histograms": {"read_bytes": [[0, 3, 0], [64, 2, 2050], [70, 1, 1800]]}}]}
RECORDS: dict[str, dict[str, Any]] = {
    "rmem-1": stall([1.0, 2.0], [0.1], fast_ms=[3.0], bulk_bytes=[5]),
    "rmem-2": stall([3.0], [0.2], fast_ms=[4.0], bulk_bytes=[6]),
    "held": {"readings": [{"held": 0, "worker_bytes": 1, "kernel_bytes": 1}]},
    "storm": storm([1.0], connections=3, overflows=2),
    "http": http(connect={"p50": 1.0, "p99": 2.0, "max": 3.0}, total={"p50": 1.0, "p99": 2.0}),
    "memory": memory([1, 2], [3]),
    "burst": {"sent": 8, "half_open": 3, "counters": {"TcpExt.ListenDrops": 6}},
    "one-by-one": {"requests": [{"total_ms": 5.0}]},
    "turns": {"workers": [11, 12], "turns": TURNS},
}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400) | st.just(5e-324),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
METRICS = [{"worker1_lag_p50_ms": 5.0, "requests_per_s": 1e300}, {"worker1_lag_p50_ms": 6.0, "requests_per_s": 1}]
ARMS = {arm: METRICS[index % 2] for index, arm in enumerate(RECORDS)}


@given(st.data())
@settings(max_examples=80)
def test_junk_anywhere_in_a_record_is_not_an_error(data: st.DataObject) -> None:
    """Any value of any record may be of the wrong kind, not a number, or missing."""
    arms = data.draw(st.lists(st.sampled_from(list(RECORDS)), min_size=1, max_size=3, unique=True))
    broken = {arm: replaced(RECORDS[arm], data) for arm in arms}
    evidence = files(*[trial(arm, 1, record) for arm, record in broken.items()], effects=[data.draw(JUNK), 2.0])
    for chart in charts(cell(arms=ARMS), evidence):
        check(chart)


@given(st.text(), st.text(), JUNK)
def test_random_text_as_evidence_has_no_charts(effects: str, samples: str, line: object) -> None:
    assert names(cell(), {"effects.json": effects, "samples.jsonl": f"{samples}\n{json.dumps(line)}\n"}) == []


@pytest.mark.parametrize("text", ["[" * 100_000, f'{{"arm": "a", "block": {"9" * 5000}}}', "\ufeff{}", '{"arm": "a"}'])
def test_lines_without_a_usable_trial_are_left_out(text: str) -> None:
    evidence = {"effects.json": text, "samples.jsonl": f"{text}\n{json.dumps(trial('a', 1, stall([1.0])))}\n{text}"}
    assert names(cell(), evidence) == ["cdf-loop-lag", "series-loop-lag"]


def test_every_kind_of_record_has_a_figure_that_plotly_accepts() -> None:
    """All records above are drawn if they are undamaged."""
    evidence = files(*[trial(arm, 1, record) for arm, record in RECORDS.items()], effects=[3.0, 5.0])
    doses = {arm: (Dose(of="buffer", unit="bytes", amount=amount),) for arm, amount in (("rmem-1", 1), ("rmem-2", 2))}
    drawn = charts(cell(arms=ARMS, doses=doses), evidence)
    for chart in drawn:
        check(chart)
    assert " ".join(chart.name for chart in drawn) == (
        "forest arms dose-response held-connections turn-bytes cdf-requests cdf-loop-lag cdf-connects percentiles "
        "series-loop-lag series-memory counters"
    )


def test_figures_set_neither_background_nor_text_colour() -> None:
    """Both come from the page, so figures work in its light and its dark scheme."""
    for chart in charts(
        cell(arms=dict(zip("ab", METRICS, strict=True))), files(trial("a", 1, stall([1.0])), effects=[3.0])
    ):
        layout = chart.figure["layout"]
        assert "template" not in layout
        assert not {"font", "paper_bgcolor", "plot_bgcolor"} & layout.keys()
        assert not any("font" in axis["title"] for key, axis in layout.items() if "axis" in key)


def test_a_cells_figures_stay_small() -> None:
    source = random.Random(7)  # noqa: S311 - not secret

    def lags() -> list[float]:
        return [source.lognormvariate(0, 2) for _ in range(3000)]

    evidence = files(
        *[trial(f"{'arm ' * 20}{arm}", 1, stall(lags(), lags(), fast_ms=lags())) for arm in range(12)], effects=[2.0]
    )
    drawn = charts(cell(), evidence)
    assert [chart.name for chart in drawn] == ["forest", "cdf-requests", "cdf-loop-lag", "series-loop-lag"]
    assert sum(len(json.dumps(chart.figure, separators=(",", ":"))) for chart in drawn) <= MOST_BYTES


def test_a_chart_that_does_not_fit_is_left_out() -> None:
    drawn = charts(cell(), files(trial("a", 1, stall([1.0])), effects=[1.0 + index for index in range(20_000)]))
    assert [chart.name for chart in drawn] == ["cdf-loop-lag", "series-loop-lag"]


def check(chart: Chart) -> None:
    """Check that a chart is complete: Plotly accepts its figure, JSON its numbers, and its table is rectangular."""
    go.Figure(chart.figure)
    json.dumps([chart.figure, chart.rows], allow_nan=False)
    assert chart.title
    assert chart.caption
    assert bool(chart.rows) == (chart.name != "arms")  # the page itself has a table of the arms' figures
    assert all(len(row) == len(chart.columns) for row in chart.rows)
    assert chart.name == chart.name.lower().replace(" ", "-")


def replaced(value: Any, data: st.DataObject) -> Any:
    """Return a value in which any part may be missing or replaced with junk."""
    fate = data.draw(st.integers(min_value=0, max_value=9))
    if fate == 0:
        return data.draw(JUNK)
    if isinstance(value, dict):
        left_out = data.draw(st.sampled_from([*value, None]))
        return {key: replaced(inner, data) for key, inner in value.items() if key != left_out}
    if isinstance(value, list):
        return [replaced(inner, data) for inner in value]
    return value
