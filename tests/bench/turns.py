"""Measures the recorder's cost for the recorded program, in one iteration of a loop that sends and reads a byte.

The loop runs with and without the recorder in turn, each time in a new process, on one CPU. The figure is the thread's
CPU time. It does not include the time that neighbours take, but their effect on the caches lengthens it, so the minimum
of many runs is printed next to the median.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tuneproof.lab.engine.images import IMAGES_FOLDER

PAIRS: Final = 25
_ITERATIONS: Final = 100_000
_RECORDER: Final = IMAGES_FOLDER / "subject/recorder/build.sh"
_PROGRAM: Final = Path(__file__).with_name("one_iteration.c")


def measure_turns() -> Iterator[str]:
    """Yield lines with the figures; without a C compiler, yield one line that reports this."""
    if shutil.which("cc") is None:
        yield "no C compiler here (Debian: apt-get install gcc libc6-dev): the cost of recording is not measured"
        return
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        library, program = Path(folder) / "recorder.so", Path(folder) / "one_iteration"
        subprocess.run(["sh", str(_RECORDER), folder], check=True)
        subprocess.run(["cc", "-O2", "-o", str(program), str(_PROGRAM)], check=True)
        plain_ns, recorded_ns = [], []
        for _ in range(PAIRS):
            plain_ns.append(_iteration_ns(program, {}))
            recorded_ns.append(
                _iteration_ns(program, {"LD_PRELOAD": str(library), "TUNEPROOF_RECORDER_FOLDER": folder})
            )
    yield f"one iteration, unrecorded: {_summary(plain_ns)}"
    yield f"one iteration, recorded: {_summary(recorded_ns)}"
    added_ns = [recorded - plain for plain, recorded in zip(plain_ns, recorded_ns, strict=True)]
    lowest_ns = min(recorded_ns) - min(plain_ns)
    yield f"recording adds {lowest_ns:.0f} ns to the lowest, {statistics.median(added_ns):.0f} ns in the median pair"


def _iteration_ns(program: Path, environment: dict[str, str]) -> float:
    command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), str(program), str(_ITERATIONS)]
    done = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _summary(values_ns: Sequence[float]) -> str:
    return f"{min(values_ns):.0f} ns of CPU time (lowest; median {statistics.median(values_ns):.0f})"
