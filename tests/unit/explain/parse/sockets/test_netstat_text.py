"""The sockets of netstat -ant are read like those of ss; a listener's backlog stays unknown."""

from tuneproof.explain.parse.sockets import ss_text
from tuneproof.explain.parse.sockets.netstat_text import readings
from tuneproof.explain.parse.sockets.table import figures

HEADER = "Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name"
ROWS = """\
tcp        3      0 0.0.0.0:80              0.0.0.0:*               LISTEN      900/nginx: master p
tcp      517      0 10.0.0.1:80             198.51.100.7:50001      CLOSE_WAIT  901/nginx: worker p
tcp        0      9 10.0.0.1:80             198.51.100.8:50002      ESTABLISHED -
tcp6       0      0 2001:db8::1:80          2001:db8::9:50003       FIN_WAIT2   -
udp        0      0 0.0.0.0:68              0.0.0.0:*                           700/dhclient
"""
UNIX = """\
Active UNIX domain sockets (servers and established)
Proto RefCnt Flags       Type       State         I-Node   PID/Program name     Path
unix  2      [ ACC ]     STREAM     LISTENING     20101    900/nginx: master p  /run/app.sock
"""
AS_SS = """\
State Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 3 0 0.0.0.0:80 0.0.0.0:* users:(("nginx",pid=900,fd=6))
CLOSE-WAIT 517 0 10.0.0.1:80 198.51.100.7:50001 users:(("nginx",pid=901,fd=7))
ESTAB 0 9 10.0.0.1:80 198.51.100.8:50002
FIN-WAIT-2 0 0 [2001:db8::1]:80 [2001:db8::9]:50003
"""


def test_sockets_are_read_like_those_of_ss() -> None:
    text = f"Active Internet connections (servers and established)\n{HEADER}\n{ROWS}{UNIX}"
    (read,) = readings(text.replace("\n", "\r\n"))
    assert read == ss_text.parse(AS_SS)


def test_several_calls_are_read_separately() -> None:
    assert len(readings(f"{HEADER}\n{ROWS}{UNIX}{HEADER}\n{ROWS}")) == 2


def test_an_unknown_backlog_does_not_make_a_queue_full() -> None:
    (read,) = readings(f"{HEADER}\n{ROWS}")
    (listener,) = read.listeners
    assert (listener.queued, listener.full_sockets) == (3, 0)
    assert {figure.key: figure.value for figure in figures(read)}["accept_queue_backlog"] is None
