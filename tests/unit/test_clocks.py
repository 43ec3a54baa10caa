"""Durations do not change if a clock is set or jumps: the wall clock is used only for dates."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT

# The reasons why these files may read the wall clock.
MAY_ASK: Final = {
    "tuneproof/report/results/run_file.py": "when a run was started",
    "tuneproof/cli/engines.py": "likewise, of several engines",
    "tuneproof/cli/doctor.py": "how old the images are",
    "tuneproof/cli/watch.py": "since when nginx is watched",
    "tuneproof/lab/engine/lock.py": "since when an engine is locked",
    "images/client/loadgen/arrivals.py": "the kernel stamps packets by it; no later than the other clock says",
    "images/netadmin/netadmin/path_probe.py": "likewise, for the milliseconds until a packet is read",
}
_WALL_CLOCK: Final = frozenset({"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"})
_NAMES_A_CLOCK: Final = re.compile(r"\b(?:time|time_ns|now|utcnow|today)\b")


def sources() -> Iterator[Path]:
    for folder in ("tuneproof", "fixtures", "images"):
        yield from (CHECKOUT / folder).rglob("*.py")


def asks_wall_clock(text: str) -> bool:
    """Tell whether a module reads the time of day."""
    if not _NAMES_A_CLOCK.search(text):  # parsing takes much longer
        return False
    tree = ast.parse(text)
    asked = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    imported = {
        f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    return bool((asked | imported) & _WALL_CLOCK)


def test_only_dates_come_from_the_wall_clock() -> None:
    found = {str(path.relative_to(CHECKOUT)) for path in sources() if asks_wall_clock(path.read_text(encoding="utf-8"))}
    assert found == set(MAY_ASK)


@pytest.mark.parametrize("text", ["import time\ntime.time()", "from time import time", "datetime.now(UTC)"])
def test_every_way_to_read_the_wall_clock_is_found(text: str) -> None:
    assert asks_wall_clock(text)


@pytest.mark.parametrize("text", ["loop.time()", "time.monotonic()", "now()"])
def test_other_clocks_are_allowed(text: str) -> None:
    assert not asks_wall_clock(text)
