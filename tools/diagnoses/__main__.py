"""``python -m tools.diagnoses RESULTS``: recorded once, analysed many times.

RESULTS is a folder of results of ``./lab run -k in_a_street`` or of ``-k differential_diagnosis``. Every trial in it is
an evidence set, from each place where it was captured; each is diagnosed whole, and with every single file missing.
"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tuneproof.catalogue.diagnosis_in_a_street import DIAGNOSES_IN_A_STREET
from tuneproof.catalogue.recorded import views_of
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources


@dataclass(frozen=True, kw_only=True)
class Set:
    """One evidence set.

    Attributes:
        arm: What was built.
        view: Where it was captured.
        missing: The file that was left out; empty for none.
        folder: The trial's folder.
        names: Its files.
    """

    arm: str
    view: str
    missing: str
    folder: Path
    names: tuple[str, ...]


def sets(results: Path) -> Iterator[Set]:
    """Yield the evidence sets of a run."""
    with (results / "trials.jsonl").open(encoding="utf-8") as journal:
        trials = [json.loads(line) for line in journal]
    for trial in trials:
        folder = results / "trials" / trial["lab"] / trial["label"]
        files = {path.name: b"" for path in sorted(folder.iterdir())}
        for view, seen in views_of(files).items():
            for missing in ("", *seen):
                names = tuple(name for name in seen if name != missing)
                yield Set(arm=trial["arm"], view=view, missing=missing, folder=folder, names=names)


def found(given: Set) -> tuple[str, ...]:
    """Return the causes that are found in an evidence set."""
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        for name in given.names:
            (Path(folder) / name).symlink_to((given.folder / name).resolve())
        explanation = explain(sources([folder]))
    return tuple(item.cause.value for item in explanation.diagnosis.found)


def table(told: Mapping[Set, tuple[str, ...]]) -> Iterator[str]:
    """Yield a table: how often a diagnosis was right, found nothing, or was wrong, and what the wrong ones said."""
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    wrong: list[str] = []
    for given, causes in told.items():
        right = tuple(cause.value for cause in DIAGNOSES_IN_A_STREET[given.arm])
        outcome = "right" if causes == right else "nothing" if not causes else "wrong"
        counts[given.arm, given.view, "a file missing" if given.missing else "whole"][outcome] += 1
        if outcome == "wrong" or (outcome == "nothing" and not given.missing):
            without = f" without {given.missing}" if given.missing else ""
            wrong.append(f"{given.folder} by {given.view}{without}: {', '.join(causes) or 'nothing'}")
    yield f"{'built':24}{'captured in':18}{'':16}{'right':>6}{'nothing':>9}{'wrong':>7}"
    for (arm, view, kind), outcomes in sorted(counts.items()):
        numbers = [outcomes[name] for name in ("right", "nothing", "wrong")]
        yield f"{arm:24}{view:18}{kind:16}{numbers[0]:6}{numbers[1]:9}{numbers[2]:7}"
    yield from wrong


def main(arguments: Sequence[str]) -> int:
    """Diagnose, and print the table; 1 where a wrong cause was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.diagnoses", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("--whole", action="store_true", help="leave no file out")
    chosen = parser.parse_args(arguments)
    given = [each for each in sets(chosen.results) if not (chosen.whole and each.missing)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        told = dict(zip(given, pool.map(found, given, chunksize=8), strict=True))
    lines = list(table(told))
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
