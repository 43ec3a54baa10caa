"""``python -m tests.support.judged_logs [N]`` generates N access logs, and checks their diagnoses.

Diagnoses must not have false findings. They must find the stalls in at least 19 of 20 logs with all recommended fields
and stalls of 100 ms or more. The program prints each log with an error, and returns 1 if a requirement is not met.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.support.generated_logs import lines_of
from tests.support.log_truths import Truth, truth_of
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.parse.access_log.log_format import TextFormat
from tuneproof.explain.parse.access_log.log_summary import summarise
from tuneproof.explain.parse.access_log.records import records

LOGS: Final = 2_000
FOUND_SHARE: Final = 0.95
_LONG_STALL_S: Final = 0.1
_AT_ONCE: Final = 10


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A log, and the findings in it."""

    truth: Truth
    found: frozenset[Cause]

    @property
    def wrong(self) -> frozenset[Cause]:
        """The false findings."""
        return self.found - self.truth.causes

    @property
    def has_long_stall(self) -> bool:
        """Whether the diagnosis must find the stall: it is long, and the log has all recommended fields."""
        return self.truth.stall_s >= _LONG_STALL_S and self.truth.lacks == "nothing"

    @property
    def is_missed(self) -> bool:
        """Whether the diagnosis missed a long stall."""
        return self.has_long_stall and Cause.EVENT_LOOP_STALL not in self.found


def judged(seed: int) -> Judged:
    truth = truth_of(seed)
    log = summarise(records(lines_of(truth), TextFormat(truth.log_format, name="generated")), format_name="generated")
    assert not log.unmatched_lines
    found = diagnose(EvidenceSet(access_logs=(Named(name="access.log", content=log),))).found
    return Judged(truth=truth, found=frozenset(each.cause for each in found))


def summary(logs: Sequence[Judged]) -> Iterator[str]:
    """Yield a line for each log with a false or missed finding, and the counts."""
    for log in logs:
        if log.wrong or log.is_missed:
            wrong = ", ".join(sorted(log.wrong))
            yield f"{f'wrong: {wrong}' if wrong else 'missed'}: {log.truth}"
    for cause in sorted({cause for log in logs for cause in log.found}):
        right = sum(cause in log.found & log.truth.causes for log in logs)
        yield f"{cause}: found in {right} of {sum(cause in log.truth.causes for log in logs)} logs that have it"
    long = [log for log in logs if log.has_long_stall]
    found = sum(not log.is_missed for log in long)
    wrong_logs = sum(bool(log.wrong) for log in logs)
    yield f"{len(logs)} logs: a wrong finding in {wrong_logs}; {found} of {len(long)} long stalls found"


def are_good(logs: Sequence[Judged]) -> bool:
    """Tell whether no finding is false, and enough long stalls were found."""
    long = [log for log in logs if log.has_long_stall]
    return not any(log.wrong for log in logs) and sum(not log.is_missed for log in long) >= FOUND_SHARE * len(long)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.judged_logs", description=__doc__)
    parser.add_argument(
        "logs", nargs="?", type=int, default=LOGS, metavar="N", help="number of logs; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the first log; default: 0")
    chosen = parser.parse_args(arguments)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        logs = list(pool.map(judged, range(chosen.seed, chosen.seed + chosen.logs), chunksize=_AT_ONCE))
    sys.stdout.writelines(f"{line}\n" for line in summary(logs))
    return int(not are_good(logs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
