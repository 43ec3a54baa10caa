"""Recorded texts of counters, shortened to the columns that the tests use."""

NETSTAT = """\
TcpExt: SyncookiesSent SyncookiesRecv TW ListenOverflows ListenDrops TCPTimeouts TCPReqQFullDoCookies
TcpExt: 507 507 63021 11612 11612 5978 507
IpExt: InNoRoutes InOctets OutOctets
IpExt: 0 281656160717 278380388465
"""
SNMP = """\
Ip: Forwarding DefaultTTL InReceives
Ip: 1 64 7468136
IcmpMsg: InType3 OutType3
IcmpMsg: 4 15
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens CurrEstab OutSegs RetransSegs
Tcp: 1 200 120000 -1 117572 109638 3 7381236 17440
"""
NSTAT = """\
#kernel
IpInReceives                    7468136            0.0
Icmp6InType135                  2                  0.0
TcpActiveOpens                  117572             0.0
TcpRetransSegs                  17440              0.0
TcpExtListenOverflows           11612              0.0
TcpExtListenDrops               11612              0.0
IpExtInOctets                   281656160717       0.0
MPTcpExtMPCapableSYNRX          3                  0.0
"""
NSTAT_JSON = '{"kernel":{"IpInReceives":7468136,"TcpExtListenDrops":11612,"IpExtInOctets":2483922382}}\n'
NETSTAT_S = """\
Ip:
    Forwarding: 1
    7468136 total packets received
    5598 with invalid headers
Icmp:
    4 ICMP messages received
    ICMP input histogram:
        destination unreachable: 4
    15 ICMP messages sent
    ICMP output histogram:
        destination unreachable: 15
IcmpMsg:
        InType3: 4
Tcp:
    117572 active connection openings
    3 connections established
    7381236 segments sent out
    17440 segments retransmitted
UdpLite:
TcpExt:
    507 SYN cookies sent
    11612 times the listen queue of a socket overflowed
    11612 SYNs to LISTEN sockets dropped
    Quick ack mode was activated 9939 times
    TCPTimeouts: 5978
"""
SOFTNET = """\
3229a931 00000fdd 0000004b 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
219f7279 00000212 00000025 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000
"""  # noqa: E501 - recorded lines stay whole
# Linux 4.18 prints no CPU numbers.
OLD_SOFTNET = """\
000022d1 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
00001c6e 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
"""
