"""Files of /proc about a process."""

from tests.support.outputs import output

STATUS = output("proc_status")
KERNEL_THREAD = "Name:\tksoftirqd/0\nState:\tS (sleeping)\nPid:\t16\nThreads:\t1\n"
SCHEDSTAT = "38261109 6899127 96\n"
