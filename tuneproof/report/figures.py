"""A metric in words, by the unit that its name ends with."""

from typing import Final

_KIB: Final = 1024


def format_figure(name: str, value: float | None) -> str:
    """Return a metric with its unit, such as "3.2 MiB" for grown_bytes, "32 upstream connects" for a count."""
    if value is None:
        return "not measured"
    if name.endswith("_bytes"):
        for unit, size in (("GiB", _KIB**3), ("MiB", _KIB**2), ("KiB", _KIB)):
            if value >= size:
                return f"{value / size:.3g} {unit}"
        return f"{value:.0f} bytes"
    return f"{value:g} {name.replace('_', ' ')}"
