"""Metrics in words, by the units that their names have, such as "12.3 MiB" for worker1_turn_bytes_p50."""

from typing import Final

from tuneproof.report.effects import format_measured
from tuneproof.report.results.cells import Cell, Effect
from tuneproof.wording import format_number, size

_TIMES: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_ARMS: Final = 2


def before_and_after(cell: Cell) -> str:
    """Return what a cell's effect compares, in its own unit; the empty string where that is no single metric."""
    if not cell.figure or len(cell.arms) != _ARMS:
        return ""
    first, second = (arm.get(cell.figure) for arm in cell.arms.values())
    if first is None or second is None:
        return ""
    return f"{format_figure(cell.figure, first)} → {format_figure(cell.figure, second)}"


def format_outcome(cell: Cell, effect: Effect) -> str:
    """Return a cell's effect with its interval, behind what it compares where that is one metric."""
    change = before_and_after(cell)
    return f"{change}, {format_measured(effect)}" if change else format_measured(effect)


def format_figure(name: str, value: float) -> str:
    """Return a metric with its unit; a number alone where its name has none."""
    words = name.split("_")
    rate = "/s" if name.endswith("_per_s") else ""
    units = words[:-2] if rate else words
    if "bytes" in units:
        return f"{size(value)}{rate}"
    unit = next((word for word in units[1:] if word in _TIMES), "")
    if unit:
        return f"{_time(value * _TIMES[unit])}{rate}"
    if "share" in units or "pct" in units:
        return f"{format_number(value * (100 if 'share' in units else 1))} %"
    return f"{format_number(value)}{rate}"


def _time(seconds: float) -> str:
    for unit, unit_s in _TIMES.items():
        if seconds >= unit_s:
            return f"{format_number(seconds / unit_s)} {unit}"
    return f"{format_number(seconds / 1e-6)} us"
