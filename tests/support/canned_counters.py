"""Recorded texts of counters, shortened to the columns that the tests use."""

from tests.support.outputs import output

NETSTAT = output("proc_net_netstat")
SNMP = output("proc_net_snmp")
NSTAT = output("nstat")
NSTAT_JSON = '{"kernel":{"IpInReceives":7468136,"TcpExtListenDrops":11612,"IpExtInOctets":2483922382}}\n'
NETSTAT_S = output("netstat_s")
SOFTNET = output("softnet_stat")
# Linux 4.18 prints no CPU numbers.
OLD_SOFTNET = output("softnet_stat_of_linux_4.18")
