"""``python -m tests.fuzz`` feeds damaged inputs to each parser, and counts the failures."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.parsers import READERS
from tests.fuzz.runner import Target, run
from tests.fuzz.seeds import SEEDS

_INPUTS: Final = 100_000
# Errors of these parsers need not have a position in MalformedEvidenceError: a format and a protocol message are
# one line, and the messages about the others contain a file or a line.
UNPLACED: Final = frozenset({"log-format", "nginx-conf", "audit", "results", "baseline", "protocol"})


def target(name: str) -> Target:
    return Target(name=name, read=READERS[name], seeds=SEEDS[name], places=name not in UNPLACED)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help=f"default: all of {', '.join(READERS)}")
    parser.add_argument("--inputs", type=int, default=_INPUTS, metavar="N", help=f"per parser; default: {_INPUTS}")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same inputs; default: 0")
    kept = Path(tempfile.gettempdir(), "tuneproof-fuzz")
    parser.add_argument("--keep", type=Path, default=kept, metavar="FOLDER", help="for failures; default: %(default)s")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parsers) - READERS.keys():
        parser.error(f"no such parser: {', '.join(sorted(unknown))}")
    failed = 0
    for name in chosen.parsers or READERS:
        tally = run(target(name), inputs=chosen.inputs, seed=chosen.seed)
        tally.keep(chosen.keep)
        failed += tally.failures.total()
        # Each result is printed immediately, because all parsers together take a while.
        summary = f"{name}: {tally.parsed} parsed, {tally.rejected} rejected, {tally.failures.total()} failures"
        sys.stdout.write("\n  ".join([summary, *(f"{kind}: {times}" for kind, times in tally.failures.most_common())]))
        sys.stdout.write("\n")
        sys.stdout.flush()
    if failed:
        sys.stdout.write(f"\nFailures are in {chosen.keep}\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
