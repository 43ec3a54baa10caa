"""Durations do not change if a clock is set: the wall clock is used only for dates and the kernel's packet stamps."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT

# The files that may read the wall clock, and their reasons.
MAY_READ: Final = {
    "tuneproof/report/results/run_file.py": "the start of a run",
    "tuneproof/cli/engines.py": "the start of a run on several engines",
    "tuneproof/cli/doctor.py": "the age of the images",
    "tuneproof/cli/watch.py": "the start of a recording",
    "tuneproof/lab/engine/lock.py": "the start of a lock",
    "images/client/loadgen/arrivals.py": "the kernel stamps packets by the wall clock",
    "images/netadmin/netadmin/path_probe.py": "the kernel stamps packets by the wall clock",
}
_WALL_CLOCK: Final = frozenset({"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"})
_NAMES_A_CLOCK: Final = re.compile(r"\b(?:time|time_ns|now|utcnow|today)\b")


def sources() -> Iterator[Path]:
    for folder in ("tuneproof", "fixtures", "images"):
        yield from (CHECKOUT / folder).rglob("*.py")


def reads_wall_clock(text: str) -> bool:
    if not _NAMES_A_CLOCK.search(text):  # parsing takes much longer
        return False
    tree = ast.parse(text)
    read = {
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
    return bool((read | imported) & _WALL_CLOCK)


def test_only_the_listed_modules_read_the_wall_clock() -> None:
    found = {
        str(path.relative_to(CHECKOUT)) for path in sources() if reads_wall_clock(path.read_text(encoding="utf-8"))
    }
    assert found == set(MAY_READ)


@pytest.mark.parametrize("text", ["import time\ntime.time()", "from time import time", "datetime.now(UTC)"])
def test_every_way_to_read_the_wall_clock_is_found(text: str) -> None:
    assert reads_wall_clock(text)


@pytest.mark.parametrize("text", ["loop.time()", "time.monotonic()", "now()"])
def test_other_clocks_are_allowed(text: str) -> None:
    assert not reads_wall_clock(text)
