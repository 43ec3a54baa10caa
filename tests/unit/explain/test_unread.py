"""If a file is recognised but cannot be used, the error names its kind or the file to give instead."""

import gzip
from pathlib import Path
from typing import Final

import pytest

from tests.support.canned_loops import SECOND
from tests.support.explained import explained
from tests.support.tables import table
from tuneproof.explain.parse import event_loop

# The end of the error, by its beginning.
INSTEAD: Final = {
    "an access log of": (
        ": its times cover nginx and everything behind it, without distinguishing them; give nginx's own access log "
        "for the same period"
    ),
    "a log of": ", which explain does not read; give nginx's own logs for the same period",
}

PRETTY_PRINTED: Final = (
    '[\n  {\n    "@type": "type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry"\n  }\n]'
)


@pytest.mark.parametrize(
    ("line", "expected"), [*table("other_logs"), (PRETTY_PRINTED, "an access log of a Google Cloud load balancer")]
)
def test_a_log_that_nginx_did_not_write_is_named_and_not_read(line: str, expected: str, tmp_path: Path) -> None:
    """Some of these logs use the names of nginx's variables with other meanings."""
    (found,) = explained(tmp_path, {"log": f"{line}\n" * 3}).found
    assert (found.kind, found.figures) == (None, ())
    assert found.error == expected + INSTEAD[expected.partition(" of ")[0] + " of"]


def test_with_a_given_format_the_error_for_another_programs_log_concerns_the_format(tmp_path: Path) -> None:
    """The user knows what the file is."""
    text = '{"ClientIP":"203.0.113.9","EdgeResponseStatus":200}\n'
    (found,) = explained(tmp_path, {"log": text}, log_formats=("$status",)).found
    assert found.error is not None
    assert "as an access log" in found.error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Active connections: 291 \nserver accepts handled requests\n 16 16 31 \n", "nginx's stub_status"),
        ("Total: 1230\nTCP:   800 (estab 500, closed 250)\n", "ss -tanmi prints"),
        (
            "Active Internet connections (servers)\nProto Recv-Q Send-Q Local Address\n",
            "sockets as netstat prints them",
        ),
        ("  sl  local_address rem_address   st\n   0: 00000000:0050 00000000:0000 0A\n", "/proc/net/tcp"),
        ("sockets: used 1234\nTCP: inuse 500 orphan 3\n", "/proc/net/sockstat"),
        ("tcp:\n\t123456 packets sent\n", "only Linux's"),
        ("net.core.somaxconn = 128\nnet.ipv4.tcp_syncookies = 1\n", "kernel settings"),
        (
            "[pid 12] 09:00:00.123456 epoll_wait(8, [{events=EPOLLIN}], 512, -1) = 1 <0.000012>\n",
            "the output of strace",
        ),
        ("% time     seconds  usecs/call     calls    errors syscall\n", "the output of strace"),
        ("# To display the perf.data header info\n# Samples: 4K\n", "a perf profile"),
        ("09:00:00.000001 IP 10.9.0.1.51234 > 10.0.0.1.80: Flags [S], seq 1, length 0\n", "tcpdump -w FILE"),
        ("09:00:00.000001 eth0  In  IP6 ::1.5 > ::1.80: Flags [S], seq 1, length 0\n", "tcpdump -w FILE"),
        ('{\n  "log": {\n    "version": "1.2",\n    "entries": []\n  }\n}\n', "a HAR file"),
        ("procs -----------memory---------- ---swap--\n", "vmstat, sar ..."),
        ("--procs-- -----------------------memory---------------------- ---swap--\n", "vmstat, sar ..."),
        ("     24684084 K total memory\n      7044964 K used memory\n", "vmstat, sar ..."),
        ("top - 09:00:00 up 10 days,  1:02,  1 user\n", "vmstat, sar ..."),
        (
            "Linux 6.1.0 (a) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n09:00:00        CPU     %user\n",
            "vmstat, sar ...",
        ),
        (
            "Linux 6.1.0 (a) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n09:00:00     active/s passive/s\n",
            "sar's rates for the whole machine: nstat -az",
        ),
        (
            "Linux 6.1.0 (a) \t11/27/26\n\n03:25:52 PM     IFACE   rxpck/s   txpck/s\n",
            "sar's rates for the whole machine: nstat -az",
        ),
        ("--total-cpu-usage-- -dsk/total-\nusr sys idl wai stl| read  writ\n", "vmstat, sar ..."),
        (" 14:00:05 up 21 days,  3:02,  2 users,  load average: 44.02, 43.80, 33.11\n", "vmstat, sar ..."),
        ("cpu=0   \tfound=8123 invalid=91231 insert=0 insert_failed=812 drop=812\n", "the counters of conntrack -S"),
        ("CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT\n", "the CPU and memory of containers"),
        ("NAME            CPU(cores)   MEMORY(bytes)\nnginx-1   998m   120Mi\n", "the CPU and memory of containers"),
        ("Mem: 1911000K used, 120000K free, 1200K shrd, 200K buff, 90000K cached\n", "vmstat, sar ..."),
        ("#kernel\n", "nstat without a counter"),
        ("[70013.442120] br0: port 1(veth1) entered disabled state\n", "kernel messages, none of which"),
        ("nr_periods 9\nnr_throttled 5\nthrottled_time 7\n", "a cgroup's cpu.stat: if nr_throttled grows"),
        ("Kernel Interface table\nIface      MTU    RX-OK RX-ERR RX-DRP\n", "a list of interfaces"),
        ("Summary:\n  Total:\t1.0 secs\n  Requests/sec:\t200.0\n", "another load generator's report"),
        ("tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 dport=80\n", "connection tracking"),
        ("2: eth0: <BROADCAST,UP> mtu 1500 qdisc fq state UP\n", "a list of interfaces"),
        (event_loop.to_line(SECOND), "without its first line"),
        ("# HELP nginx_connections_accepted Accepted client connections\n", "Prometheus metrics"),
        ("    time_namelookup:  0.004s\n       time_connect:  3.005s\n", "curl -w"),
        ("PING 10.0.0.5 (10.0.0.5) 56(84) bytes of data.\n", "the output of ping"),
        ("Start: x\nHOST: web1                        Loss%   Snt   Last\n", "ping, mtr"),
        ("Limit                     Soft Limit           Hard Limit           Units\n", "a process's limits"),
        ("COMMAND PID     USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n", "by lsof"),
        ("Filesystem      Size  Used Avail Use% Mounted on\n", "by df"),
        ("               total        used        free      shared\n", "by free"),
        ("nginx version: nginx/1.24.0\nbuilt by gcc 12.2.0\n", "the version of nginx"),
        ("*   Trying 10.0.0.1:80...\n> GET / HTTP/1.1\n", "the output of curl -v"),
        ('[{"status": 200, "request": "GET / HTTP/1.1"}]\n', "jq -c '.[]'"),
        ('{\n  "status": 200\n}\n', "jq -c"),
        ('{"st": 200, "rt": 0.1}\n{"st": 200, "rt": 0.1}\n', "--nginx-conf FILE with its log_format"),
    ],
)
def test_a_known_text_that_is_not_read_has_its_own_error(text: str, expected: str, tmp_path: Path) -> None:
    """The error names the kind of text, or the file to give instead."""
    (found,) = explained(tmp_path, {"text": text}).found
    assert found.error is not None
    assert found.error.startswith("not read: ")
    assert expected in found.error


@pytest.mark.parametrize(
    ("content", "packing"),
    [
        (b"\x28\xb5\x2f\xfdx", "compressed with zstd"),
        (b"PK\x03\x04x", "a zip archive"),
        (bytes(257) + b"ustar\0", "a tar archive"),
        (gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "compressed twice"),
        (gzip.compress(b"access.log".ljust(257, b"\0") + b"ustar", mtime=0), "a tar archive"),
    ],
    ids=["zstd", "zip", "tar", "twice", "packed tar"],
)
def test_a_packed_file_that_cannot_be_read_is_named(content: bytes, packing: str, tmp_path: Path) -> None:
    (found,) = explained(tmp_path, {"packed": content}).found
    assert found.error == f"{packing}: unpack it first (only gzip, bzip2 and xz are unpacked here)"
