"""Outputs of tools, files of /proc and logs, each in a file of its own; recorded, or shortened to what tests use."""

from tests.support.places import CAPTURES


def output(name: str) -> str:
    return (CAPTURES / "outputs" / f"{name}.txt").read_text(encoding="utf-8")


NETSTAT = output("proc_net_netstat")
SNMP = output("proc_net_snmp")
NSTAT = output("nstat")
NSTAT_JSON = '{"kernel":{"IpInReceives":7468136,"TcpExtListenDrops":11612,"IpExtInOctets":2483922382}}\n'
NETSTAT_S = output("netstat_s")
SOFTNET = output("softnet_stat")
# Linux 4.18 prints no CPU numbers.
OLD_SOFTNET = output("softnet_stat_of_linux_4.18")

# Output of `ss -tanmie` (iproute2 6.1): a listener with a backlog of 2 and a full queue, and some of its connections.
FULL_QUEUE = output("ss_full_queue")
# One line per socket, as with -O: a slow reader of a proxy, with retransmissions, and one that has closed its end.
SLOW_READERS = output("ss_slow_readers")

STATUS = output("proc_status")
KERNEL_THREAD = "Name:\tksoftirqd/0\nState:\tS (sleeping)\nPid:\t16\nThreads:\t1\n"
SCHEDSTAT = "38261109 6899127 96\n"
PIDSTAT = output("pidstat_cpu")
PIDSTAT_ONE_LINE = output("pidstat_one_line")
PIDSTAT_THREADS = output("pidstat_threads")

AB = output("ab")
AB_BANNER = AB.partition("Completed")[0]
WRK = output("wrk")
# The example in wrk2's README, shortened.
WRK2 = output("wrk2")
WRK2_UNCORRECTED = output("wrk2_uncorrected")
H2LOAD_OLD = output("h2load_old")
H2LOAD = output("h2load")
