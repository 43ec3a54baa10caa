"""What a user waits for: whole commands, from their start to their end, and to the first verdict."""

import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.places import CHECKOUT
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.run_file import load

COMMANDS: Final = (
    ("run",),
    ("run", "-k", "Test_reuseport_stall and not league and not herd and not protocol"),
    ("run", "-m", "headline"),
    ("run", "--nginx-conf", "docs/own-nginx.conf"),
    ("explain", "/proc/net/netstat"),
)
_VERDICT: Final = re.compile(r": (holds|refuted|inconclusive)\b")


@dataclass(frozen=True, kw_only=True)
class Ran:
    wall_s: float
    first_verdict_s: float | None
    cells: Sequence[Cell]

    @property
    def lost_pct(self) -> float:
        """What a CPU lost to neighbours before the blocks, in percent: the median of the cells' medians."""
        return statistics.median([cell.host_noise["lost_p50_pct"] for cell in self.cells if cell.host_noise] or [0.0])


def measure_runs(times: int) -> Iterator[str]:
    """Run every command so many times; return a line about each: medians, and how noisy the machine was meanwhile."""
    for command in COMMANDS:
        runs = [_run(command) for _ in range(times)]
        last = runs[-1]
        first = [ran.first_verdict_s for ran in runs if ran.first_verdict_s is not None]
        parts = [f"{statistics.median(ran.wall_s for ran in runs):.1f} s"]
        if first:
            parts.append(f"first verdict after {statistics.median(first):.1f} s")
        if last.cells:
            decided = sum(cell.verdict in {"holds", "refuted"} for cell in last.cells)
            share = sum(cell.measuring_seconds for cell in last.cells) / last.wall_s
            parts.append(f"{decided} of {len(last.cells)} decided, {share:.0%} of it measuring in the last run")
            parts.append(f"a CPU lost {max(ran.lost_pct for ran in runs):.0f} % at most in the median of a run")
        yield f"./lab {' '.join(command)}: {', '.join(parts)} (median of {times})"


def _run(command: Sequence[str]) -> Ran:
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        kept = ("--results", folder) if command[0] == "run" else ()
        began_s = time.monotonic()
        first_s = None
        with subprocess.Popen([str(CHECKOUT / "lab"), *command, *kept], stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout or ():
                if first_s is None and _VERDICT.search(line):
                    first_s = time.monotonic() - began_s
        wall_s = time.monotonic() - began_s
        cells = load(Path(folder) / "latest").cells if kept else ()
    return Ran(wall_s=wall_s, first_verdict_s=first_s, cells=cells)
