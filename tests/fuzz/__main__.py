"""``python -m tests.fuzz``: damaged evidence for each parser, and a table of what became of it."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.parsers import READERS
from tests.fuzz.runner import Target, keep, run, table
from tests.fuzz.seeds import SEEDS

_INPUTS: Final = 100_000
# A format has one line, a configuration's definition has its own beside the error, and the audit's errors name files.
UNPLACED: Final = frozenset({"log-format", "nginx-conf", "audit"})


def targets(names: Sequence[str]) -> list[Target]:
    """Return the parsers of these names; all without any."""
    return [
        Target(name=name, read=READERS[name], seeds=SEEDS[name], places=name not in UNPLACED)
        for name in names or READERS
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the parsers one after the other.

    Returns:
        0, or 1 where there was a failure.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help=f"default: all of {', '.join(READERS)}")
    parser.add_argument("--inputs", type=int, default=_INPUTS, metavar="N", help=f"per parser; default: {_INPUTS}")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same inputs for the same seed; default: 0"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path(tempfile.gettempdir(), "tuneproof-fuzz"),
        metavar="FOLDER",
        help="where failures go, with their inputs; default: %(default)s",
    )
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parsers) - READERS.keys():
        parser.error(f"no such parser: {', '.join(sorted(unknown))}")
    tallies = []
    for target in targets(chosen.parsers):
        tally = run(target, inputs=chosen.inputs, seed=chosen.seed)
        keep(tally, chosen.keep)
        tallies.append(tally)
        # At once: all of them take a while.
        sys.stdout.write(f"{tally.name}: {tally.inputs} inputs, {tally.failures.total()} failures\n")
        for kind, count in tally.failures.most_common():
            sys.stdout.write(f"  {kind}: {count}\n")
        sys.stdout.flush()
    sys.stdout.write(f"\n{table(tallies)}\n")
    if any(tally.failures for tally in tallies):
        sys.stdout.write(f"\nFailures are in {chosen.keep}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
