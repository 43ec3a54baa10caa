"""``python -m tools.diagnoses RESULTS``: diagnoses recorded evidence, complete and with a file missing.

RESULTS is the results folder of ``./lab run -k diagnosis``. Each trial has a set of files for each capture point; it is
diagnosed with all its files, and then without each of them in turn.
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
from typing import Final

from tools.docs.cells import run_line
from tuneproof.catalogue.diagnosis_in_a_street import DIAGNOSES_IN_A_STREET
from tuneproof.catalogue.diagnosis_of_failures import DIAGNOSES as DIAGNOSES_OF_FAILURES
from tuneproof.catalogue.recorded import views_of
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources
from tuneproof.report.results.run_file import load

DIAGNOSES: Final = {**DIAGNOSES_OF_FAILURES, **DIAGNOSES_IN_A_STREET}
OUTCOMES: Final = ("right", "nothing", "wrong")


@dataclass(frozen=True, kw_only=True)
class Set:
    """The files of one trial and capture point, or all but one of them."""

    arm: str  # the variant that ran
    view: str  # where the traffic was captured
    missing: str  # the file left out; empty for none
    folder: Path  # of the trial
    names: tuple[str, ...]  # the set's files in the folder


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
    """Return the causes found in an evidence set."""
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        for name in given.names:
            (Path(folder) / name).symlink_to((given.folder / name).resolve())
        explanation = explain(sources([folder]))
    return tuple(item.cause.value for item in explanation.diagnosis.found)


def outcome(given: Set, causes: tuple[str, ...]) -> str:
    """Return the outcome of a diagnosis: "right", "nothing" or "wrong"; finding nothing in healthy traffic is right."""
    if causes == tuple(cause.value for cause in DIAGNOSES[given.arm]):
        return "right"
    return "wrong" if causes else "nothing"


def counted(diagnosed: Mapping[Set, tuple[str, ...]]) -> list[dict[str, str | int]]:
    """Return how often each outcome occurred, by variant, capture point and completeness."""
    counts: dict[tuple[str, str, bool], Counter[str]] = defaultdict(Counter)
    for given, causes in diagnosed.items():
        counts[given.arm, given.view, not given.missing][outcome(given, causes)] += 1
    return [
        {"built": arm, "captured": view, "whole": whole, **{name: outcomes[name] for name in OUTCOMES}}
        for (arm, view, whole), outcomes in sorted(counts.items())
    ]


def table(diagnosed: Mapping[Set, tuple[str, ...]]) -> Iterator[str]:
    """Yield the counts as lines, then the sets with a wrong diagnosis, and the complete sets without any."""
    yield f"{'built':24}{'captured':18}{'':16}" + "".join(f"{name:>9}" for name in OUTCOMES)
    for row in counted(diagnosed):
        kind = "whole" if row["whole"] else "a file missing"
        yield f"{row['built']:24}{row['captured']:18}{kind:16}" + "".join(f"{row[name]:9}" for name in OUTCOMES)
    for given, causes in diagnosed.items():
        if outcome(given, causes) == "wrong" or (outcome(given, causes) == "nothing" and not given.missing):
            without = f" without {given.missing}" if given.missing else ""
            yield f"{given.folder} by {given.view}{without}: {', '.join(causes) or 'nothing'}"


def main(arguments: Sequence[str]) -> int:
    """Diagnose, and print the table; return 1 if a diagnosis is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.diagnoses", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the counts to this file, such as docs/diagnoses.json"
    )
    parser.add_argument("--whole", action="store_true", help="do not leave files out")
    chosen = parser.parse_args(arguments)
    given = [each for each in sets(chosen.results) if not (chosen.whole and each.missing)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        diagnosed = dict(zip(given, pool.map(found, given, chunksize=8), strict=True))
    sys.stdout.write("\n".join(table(diagnosed)) + "\n")
    if chosen.json:
        results = load(chosen.results)
        document = {"measured": run_line(results, [cell.id for cell in results.cells]), "sets": counted(diagnosed)}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(any(outcome(given, causes) == "wrong" for given, causes in diagnosed.items()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
