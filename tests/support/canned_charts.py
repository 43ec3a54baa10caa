"""Cells and evidence for tests of charts, in the form of the loads' records."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.written_results import a_cell
from tuneproof.report.charts import Chart, charts
from tuneproof.report.results.cells import Cell, Dose, Effect

Json = dict[str, Any]


def cell(
    *,
    arms: Mapping[str, Mapping[str, float | None]] | None = None,
    unit: str = "ratio",
    value: float = 4.0,
    interval: tuple[float, float] = (2.5, 6.0),
    threshold: float | None = 2.0,
    form: str = "more",
    doses: Mapping[str, tuple[Dose, ...]] | None = None,
) -> Cell:
    effect = Effect(name="lag, a ÷ b", unit=unit, value=value, ci_low=interval[0], ci_high=interval[1], form=form)
    return a_cell("claim", threshold=threshold, effect=effect, arms=arms or {}, doses=doses or {})


def dosed(of: str, unit: str, amounts: Mapping[str, float | None], *, series: Mapping[str, str] | None = None) -> Cell:
    known = series or {}
    doses = {
        arm: (Dose(of=of, unit=unit, amount=amount, series=known.get(arm, "")),) for arm, amount in amounts.items()
    }
    return cell(doses=doses)


def trial(arm: str, block: int, record: Mapping[str, Any], *void_reasons: str) -> Json:
    """Return one line from samples.jsonl as an object."""
    return {"arm": arm, "block": block, "label": f"{arm}-b{block}", "void_reasons": list(void_reasons), "raw": record}


def files(*trials: Json, effects: Sequence[Any] | None = None) -> dict[str, str]:
    samples = "".join(f"{json.dumps(item)}\n" for item in trials)
    of_effects = {} if effects is None else {"effects.json": json.dumps({"effect_per_block": list(effects)})}
    return {"samples.jsonl": samples, **of_effects}


def stall(*lags_ms: Sequence[float], fast_ms: Sequence[float] = (), bulk_bytes: Sequence[int] = ()) -> Json:
    """Return the record of a stall trial: the loop lags of each worker, the fast requests, the bulk bytes."""
    return {
        "measure_s": 0.5,
        "probe": [
            {"at_ms": [10.0 * index for index in range(len(of_one))], "lag_ms": list(of_one), "missed_ticks": 3}
            for of_one in lags_ms
        ],
        "bulk": {"worker_bytes": list(bulk_bytes)} if bulk_bytes else None,
        "fast": [{"total_ms": total_ms, "complete": True} for total_ms in fast_ms],
        "baseline": [],
    }


def storm(connect_ms: Sequence[float], *, connections: int, overflows: int = 0, queue_peak: int = 0) -> Json:
    return {
        "connect_ms": list(connect_ms),
        "connections": connections,
        "queue_peak": queue_peak,
        "counters": {"TcpExt.ListenOverflows": overflows, "TcpExt.ListenDrops": overflows},
    }


def http(*, connect: Mapping[str, float] | None, total: Mapping[str, float], drops: int = 0) -> Json:
    """Return the record of a load with a generator that reports percentiles."""
    return {"connect_ms": connect, "total_ms": total, "counters": {"TcpExt.ListenDrops": drops}}


def memory(*rss_bytes: Sequence[int]) -> Json:
    """Return the record of slow readers, with the workers' memory at samples a tenth of a second apart."""
    samples = [{"at_s": 500.0 + index / 10, "rss_bytes": list(of_one)} for index, of_one in enumerate(rss_bytes)]
    return {"rss_before_bytes": 1000, "rss_peak_bytes": max(map(sum, rss_bytes)), "rss_samples": samples}


def named(name: str, of: Cell, evidence: Mapping[str, str]) -> Chart:
    (chart,) = [item for item in charts(of, evidence) if item.name == name]
    return chart


def names(of: Cell, evidence: Mapping[str, str]) -> list[str]:
    return [item.name for item in charts(of, evidence)]


def traces(chart: Chart, **wanted: Any) -> list[Json]:
    return [trace for trace in chart.figure["data"] if all(trace.get(key) == value for key, value in wanted.items())]


def rows(chart: Chart) -> list[tuple[Any, ...]]:
    return list(chart.rows)


def only(chart: Chart, **wanted: Any) -> Json:
    """Return the trace with these attributes; there must be exactly one."""
    (trace,) = traces(chart, **wanted)
    return trace
