"""Reports of load generators."""

from typing import Final

from tests.support.places import CAPTURES


def _report(name: str) -> str:
    return (CAPTURES / "load_tools" / f"{name}.txt").read_text(encoding="utf-8")


REPORT: Final = _report("ab")
BANNER: Final = REPORT.partition("Completed")[0]
WRK: Final = _report("wrk")
# The example in wrk2's README, shortened.
WRK2: Final = _report("wrk2")
UNCORRECTED: Final = _report("wrk2_uncorrected")
OLD: Final = _report("h2load_old")
NEW: Final = _report("h2load")
