"""Reports of load generators."""

from tests.support.outputs import output

REPORT = output("ab")
BANNER = REPORT.partition("Completed")[0]
WRK = output("wrk")
# The example in wrk2's README, shortened.
WRK2 = output("wrk2")
UNCORRECTED = output("wrk2_uncorrected")
OLD = output("h2load_old")
NEW = output("h2load")
