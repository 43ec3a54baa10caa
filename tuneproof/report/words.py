"""A result in words: effects, figures, limits and verdicts, the same in the terminal, Markdown, pages and docs."""

from typing import Final

from tuneproof.report.results.cells import Cell, Effect
from tuneproof.wording import VERDICT_WORDS, format_number, share, size

_DIGITS: Final = 3
_MOST_DIGITS: Final = 7
_TIMES: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_ARMS: Final = 2
_EXPIRED_VERDICT: Final = "refuted"


def format_effect(value: float, unit: str, interval: tuple[float, float] | None = None) -> str:
    """Return an effect with its interval, in three significant digits, or as many as distinguish the interval's ends.

    Args:
        value: The estimate.
        unit: ``ratio``, shown as a multiple; or ``share``, a difference of shares, shown in percentage points (pp).
        interval: The lower and the upper end, in the same unit; None if there is no interval yet.
    """
    scale, suffix = (1, "×") if unit == "ratio" else (100, " pp")  # noqa: RUF001 - a multiplication sign is meant
    if interval is None:
        return f"{format_number(scale * value)}{suffix}"
    low, high = interval
    digits = _telling_apart(scale * low, scale * high)
    shown = f"{format_number(scale * value, digits=digits)}{suffix}"
    # A dash between negative numbers reads as another minus.
    dash = " to " if low < 0 else "–"  # noqa: RUF001 - an en dash is meant
    ends = (format_number(scale * end, digits=digits) for end in interval)
    return f"{shown} [{dash.join(ends)}]"


def format_measured(effect: Effect) -> str:
    """Return a result's effect with its interval; a counted share as "5 of 5" if these are whole numbers.

    Units that are not independent count as parts of one unit, so only their share is printed.
    """
    if effect.of is not None and effect.count is not None:
        low, high = (format_number(100 * end) for end in (effect.ci_low, effect.ci_high))
        is_whole = float(effect.count).is_integer() and float(effect.of).is_integer()
        counted = f"{format_number(effect.count)} of {format_number(effect.of)}" if is_whole else share(effect.value)
        return f"{counted} [{low}–{high} %]"  # noqa: RUF001 - an en dash
    return format_effect(effect.value, effect.unit, (effect.ci_low, effect.ci_high))


def measured(cell: Cell, *, nothing: str = "") -> str:
    """Return a result's effect with its interval."""
    return format_measured(cell.effect) if cell.effect else nothing


def before_and_after(cell: Cell) -> str:
    """Return the two values behind a result's effect, in their unit; empty if it compares no metric of two variants."""
    if not cell.figure or len(cell.arms) != _ARMS:
        return ""
    first, second = (arm.get(cell.figure) for arm in cell.arms.values())
    if first is None or second is None:
        return ""
    return f"{format_figure(cell.figure, first)} → {format_figure(cell.figure, second)}"


def outcome(cell: Cell, *, nothing: str = "") -> str:
    """Return a result's effect with its interval, after the two values if it compares a metric of two variants."""
    return ", ".join(filter(None, (before_and_after(cell), measured(cell)))) if cell.effect else nothing


def limit(cell: Cell, *, nothing: str = "") -> str:
    """Return the condition on the interval for a result's claim to hold: above a number, or within a margin."""
    threshold, effect = cell.threshold, cell.effect
    if threshold is None or effect is None:
        return nothing
    if effect.form == "same":
        return f"between {format_effect(1 / threshold, effect.unit)} and {format_effect(threshold, effect.unit)}"
    return f"above {share(threshold) if effect.of is not None else format_effect(threshold, effect.unit)}"


def word_of(name: str) -> str:
    """Return a verdict in readers' words: "not testable" for ``unsupported``, the others unchanged."""
    return VERDICT_WORDS.get(name, name)


def verdict(cell: Cell) -> str:
    """Return a result's verdict in words, with the expected verdict if it differs."""
    return f"{word_of(cell.verdict)}, expected: {cell.expected}" if cell.contradicts else word_of(cell.verdict)


def place_of(cell: Cell) -> str:
    """Return the place of a result's measurement: scenario, version, and the network if links were shaped."""
    return cell.key.place


def expired_since(cell: Cell) -> str:
    """Return the version that made a result's advice unnecessary; empty if none did, or if the claim is not refuted."""
    expired = cell.expired_since and cell.verdict == _EXPIRED_VERDICT
    return f"nginx {cell.expired_since}" if expired else ""


def to_do(cell: Cell) -> str:
    """Return the advice below a verdict and its reason: act on it, ignore it, or measure again."""
    again = f"./lab run -k {cell.name or cell.scenario}"
    if cell.verdict == "unsupported":
        return f"The reason is above. ./lab doctor shows whether this machine lacks something. To test again: {again}"
    if cell.verdict == "inconclusive":
        return f"Change nothing yet. More rounds may decide it: {again} --depth full"
    if cell.contradicts:
        return f"The result is unexpected. Repeat the test before you act on it: {again} --depth full"
    if cell.remedy:
        make = "Consider the change below" if cell.remedy.is_a_choice else "Make the change below"
        change = make if cell.verdict == "holds" else "Change nothing: the patch gains nothing here"
        gained = ": ".join(filter(None, (change, before_and_after(cell))))
        return f"{gained}. Check what else it costs before you deploy it."
    audited = "Check your files: ./lab audit CONF. Measure the effect on them: ./lab run --nginx-conf CONF."
    return f"{_expectation(cell)}. {audited}"


def _expectation(cell: Cell) -> str:
    if expired_since(cell):
        return f"Drop the advice from {expired_since(cell)} on"
    if cell.verdict == "refuted":
        return f"Do not rely on it with nginx {cell.nginx}"
    where = f' if your configuration has "{cell.line}"' if cell.line else ""
    return f"Expect this on nginx {cell.nginx}{where}"


def unit_of(name: str) -> str:
    """Return the unit in a metric's name: a time, bytes, bytes_per_s, share or pct; empty if there is none."""
    rate = name.endswith("_per_s")
    words = name.split("_")[: -2 if rate else None]
    if "bytes" in words:
        return "bytes_per_s" if rate else "bytes"
    return next((word for word in words[1:] if word in (*_TIMES, "share", "pct")), "")


def format_figure(name: str, value: float) -> str:
    """Return a metric with the unit in its name, such as "12.3 MiB"; just the number if it has none."""
    unit = unit_of(name)
    rate = "/s" if name.endswith("_per_s") else ""
    if unit.startswith("bytes"):
        return f"{size(value)}{rate}"
    if unit in _TIMES:
        return f"{_time(value * _TIMES[unit])}{rate}"
    if unit in ("share", "pct"):
        return f"{share(value) if unit == 'share' else f'{format_number(value)} %'}{rate}"
    return f"{format_number(value)}{rate}"


def _telling_apart(low: float, high: float) -> int:
    """Return how many significant digits, at most seven, show that two numbers differ; three if none do."""
    for digits in range(_DIGITS, _MOST_DIGITS + 1):
        if format_number(low, digits=digits) != format_number(high, digits=digits):
            return digits
    return _DIGITS


def _time(seconds: float) -> str:
    for unit, unit_s in _TIMES.items():
        if seconds >= unit_s:
            return f"{format_number(seconds / unit_s)} {unit}"
    return f"{format_number(seconds / 1e-6)} us"
