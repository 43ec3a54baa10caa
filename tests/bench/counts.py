"""``python -m tests.bench.counts OLD NEW``: compares the verdicts and the counts of two runs.

Use it to check parallel runs: compare a run with ``--jobs 1`` and one without it, with the same seed. Times, rates
and percentages are not compared. Numbers within 1 % of each other count as equal, since memory comes in pages. Some
figures, such as the bytes in temporary files, always differ; to find them, first compare two runs with equal options.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tuneproof.catalogue import every_advice
from tuneproof.report.results.comparing import Pair, compare
from tuneproof.report.results.run_file import load
from tuneproof.report.words import unit_of

_NO_COUNTS = ("s", "ms", "us", "pct")


def figures(pair: Pair) -> Iterator[tuple[str, object, object]]:
    """Yield each count: its variant and name, and its values in both runs."""
    for arm, old in pair.old.arms.items():
        for name, value in old.items():
            if unit_of(name) not in _NO_COUNTS and not name.endswith("_per_s"):
                yield f"{arm} {name}", value, pair.new.arms.get(arm, {}).get(name)


def is_alike(old: object, new: object) -> bool:
    if isinstance(old, float | int) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=0.01)
    return old == new


def lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield a line for each scenario without timing, and one for each verdict and each count that differs."""
    counted = {advice.name for advice in every_advice() if not advice.timed}
    chosen = sorted((pair for pair in pairs if pair.new.scenario in counted), key=lambda pair: pair.new.id)
    for scenario, group in groupby(chosen, key=lambda pair: pair.new.scenario):
        cells = list(group)
        seen = [(pair.new.name, *figure) for pair in cells for figure in figures(pair)]
        unlike = [figure for figure in seen if not is_alike(*figure[2:])]
        same = sum(not pair.changed for pair in cells)
        yield f"{scenario}: {same} of {len(cells)} verdicts and {len(seen) - len(unlike)} of {len(seen)} counts alike"
        yield from (f"  {pair.new.name}: {pair.old.verdict} -> {pair.new.verdict}" for pair in cells if pair.changed)
        yield from (f"  {name}, {figure}: {old} -> {new}" for name, figure, old, new in unlike)


def main(arguments: Sequence[str]) -> int:
    old, new = (load(Path(argument)) for argument in arguments)
    pairs = compare(old, new).pairs
    sys.stdout.writelines(f"{line}\n" for line in lines(pairs))
    changed = [pair for pair in pairs if pair.changed]
    sys.stdout.write(f"all scenarios: {len(pairs) - len(changed)} of {len(pairs)} verdicts alike\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
