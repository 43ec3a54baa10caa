"""Reports of pidstat."""

from tests.support.outputs import output

CPU = output("pidstat_cpu")
ONE_LINE = output("pidstat_one_line")
THREADS = output("pidstat_threads")
