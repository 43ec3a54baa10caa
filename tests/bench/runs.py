"""Measures how long a user waits for whole commands, and for the first verdict."""

import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.places import CHECKOUT
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load

_STALL: Final = "reuseport_stall/"
COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "run": ("run",),
    "stall": ("run", "-k", _STALL),
    "headline": ("run", "-m", "headline"),
    "own": ("run", "--nginx-conf", "docs/own-nginx.conf"),
    "explain": ("explain", "/proc/net/netstat"),
    "versions": ("run", "--nginx", "all"),
}
_VERDICT: Final = re.compile(r": (holds|refuted|inconclusive)\b")


@dataclass(frozen=True, kw_only=True)
class Ran:
    wall_s: float
    first_verdict_s: float | None
    results: Results | None

    @property
    def line(self) -> str:
        """Return a line with a command's durations; after a run, also decided claims, lost CPU time and memory."""
        parts = [f"{self.wall_s:.1f} s"]
        if self.first_verdict_s is not None:
            parts.append(f"first verdict after {self.first_verdict_s:.1f} s")
        if self.results is not None and (cells := self.results.cells):
            decided = sum(cell.verdict in {"holds", "refuted"} for cell in cells)
            measuring_s = sum(cell.measuring_seconds for cell in cells)
            lost = [cell.host_noise["lost_p50_pct"] for cell in cells if cell.host_noise]
            parts.append(f"{decided} of {len(cells)} decided, measuring {measuring_s / self.wall_s:.0%} of the time")
            parts += [f"neighbours took {statistics.median(lost):.0f} % of a CPU"] if lost else []
            parts += [f"{peak / (1 << 30):.2f} GiB at the peak"] if (peak := self.results.memory_peak_bytes) else []
        return ", ".join(parts)


def measure_command(name: str, times: int) -> Iterator[str]:
    """Run a command this many times; yield a line about each run, and one with the medians."""
    words = COMMANDS[name]
    yield f"./lab {' '.join(words)}"
    runs: list[Ran] = []
    for _ in range(times):
        runs.append(_run(words))
        yield f"  {runs[-1].line}"
    first = [ran.first_verdict_s for ran in runs if ran.first_verdict_s is not None]
    verdict = f", first verdict after {statistics.median(first):.1f} s" if first else ""
    yield f"  median of {times}: {statistics.median(ran.wall_s for ran in runs):.1f} s{verdict}"


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
        return Ran(wall_s=wall_s, first_verdict_s=first_s, results=load(Path(folder) / "latest") if kept else None)
