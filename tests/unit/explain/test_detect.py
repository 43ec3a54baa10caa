"""The kind of a file is told by its content, never by its name."""

import itertools
import math
import time

import pytest

from tuneproof.explain.detect import Kind, detect, packed_as

SS_ROW = "ESTAB 0      0          10.0.0.1:80      10.0.0.2:43210"
SAMPLES = {
    Kind.ERROR_LOG: "2026/11/22 14:50:00 [error] 29#29: *1 connect() failed\n",
    Kind.CAPTURE: "\x0a\x0d\x0d\x0a",
    Kind.EVENT_LOOPS: '{"event_loop_recording": 1, "began": "2026-11-23T17:00:00+00:00"}\n',
    Kind.NSTAT_JSON: '{"kernel":{"IpInReceives":1128,"TcpExtListenOverflows":3}}\n',
    Kind.WRK2: (
        "Running 10s test @ http://10.0.0.1/\n  2 threads and 10 connections\n"
        "  Thread calibration: mean lat.: 1.2ms, rate sampling interval: 10ms\n"
    ),
    Kind.WRK: "Running 10s test @ http://10.0.0.1/\n  2 threads and 10 connections\n  Thread Stats   Avg\n",
    Kind.H2LOAD: "starting benchmark...\nspawning thread #0: 10 total client(s). 100 total requests\n",
    Kind.AB: "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\nBenchmarking 10.0.0.1 (be patient)\n",
    Kind.PIDSTAT: (
        "Linux 6.1.0 (host) \t11/20/2026 \t_x86_64_\t(2 CPU)\n\n"
        "06:13:22 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
        "06:13:27 PM    33        31    1.00    2.00    0.00    3.00    3.00     0  nginx\n"
    ),
    Kind.PROCESS_STATUS: "Name:\tnginx\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t31\nPid:\t31\n",
    Kind.PROC_NET: "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 12\n",
    Kind.NETSTAT_S: "Ip:\n    Forwarding: 1\n    1128 total packets received\nTcp:\n    3 active connection openings\n",
    Kind.NSTAT: "#kernel\nIpInReceives                    1128               0.0\n",
    Kind.SOFTNET: f"{' '.join(['0000a1b2'] * 15)}\n{' '.join(['00000000'] * 15)}\n",
    Kind.SS: "State    Recv-Q   Send-Q  Local Address:Port   Peer Address:Port  Process\nLISTEN 0 511 *:80 *:*\n",
    Kind.NGINX_CONF: "# the front\nworker_processes 2;\nevents { worker_connections 1024; }\nhttp {\n}\n",
    Kind.SCHEDSTAT: "2162830 103450 12\n",
}
ACCESS_LOG_LINE = (
    '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET /?a=1;b={2} HTTP/1.0" 200 612 "-" "{agent}" rt=0.001 uct="0.000"\n'
)


def kind_of(text: str) -> Kind | None:
    return detect(text.encode("latin-1"), text)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.ACCESS_LOG])
def test_each_kind_is_known_by_its_content(kind: Kind) -> None:
    """Line ends of Windows change nothing, nor does a date before each reading of a loop."""
    assert kind_of(SAMPLES[kind]) == kind
    if kind is not Kind.CAPTURE:
        assert kind_of(SAMPLES[kind].replace("\n", "\r\n")) == kind
    if kind in {Kind.PROC_NET, Kind.NETSTAT_S, Kind.NSTAT, Kind.SOFTNET, Kind.SS}:
        assert kind_of(f"Fri Nov 20 18:59:05 UTC 2026\n{SAMPLES[kind]}") == kind


@pytest.mark.parametrize(
    "magic", ["d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"], ids=["le", "be", "le-ns", "be-ns", "ng"]
)
def test_every_form_of_capture_is_known(magic: str) -> None:
    assert detect(bytes.fromhex(magic) + bytes(20), "") == Kind.CAPTURE


def test_a_foreign_compression_is_named() -> None:
    """What can be unpacked here is not among them."""
    assert (packed_as(b"\xfd7zXZ\0rest"), packed_as(b"\x1f\x8b\x08")) == ("xz", None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SS_ROW, Kind.SS),
        (f"tcp   {SS_ROW}", Kind.SS),
        ("0      0          10.0.0.1:80      10.0.0.2:43210\n\t cubic wscale:7,7 rto:204 cwnd:10\n", Kind.SS),
        ("LISTEN 0 511 [::]:80 [::]:*", Kind.SS),
        ("Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n0 0 10.0.0.1:80 10.0.0.2:4321", Kind.SS),
        # What is included has no http block.
        ("server {\n  listen 80;\n}\n", Kind.NGINX_CONF),
        ("upstream app {\n}\n", Kind.NGINX_CONF),
        ("log_format x '$status';", Kind.NGINX_CONF),
    ],
)
def test_a_part_of_it_is_known_as_well(text: str, kind: Kind) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "agent", ["ApacheBench/2.3", "This is ApacheBench, Version", "Running 1s test @ x", "http { server {", "Tcp: A B"]
)
def test_what_clients_send_makes_a_log_nothing_else(agent: str) -> None:
    """A stranger chooses the request and the user agent, but not the start of a line."""
    assert kind_of(ACCESS_LOG_LINE.replace("{agent}", agent)) is None


@pytest.mark.parametrize(
    "text",
    ["", "\n", "hello\n", "{}\n", '{"a": 1}\n{"a": 2}\n', "1 2 3\n4 5 6 7\n", "Name: x\n", "PID\n", "0000 0000\n"],
)
def test_other_texts_are_of_no_kind(text: str) -> None:
    assert kind_of(text) is None


@pytest.mark.parametrize(
    "line", [" PID %usr", "\n ", "include \n", "Running test @", "Tcp: A", "1 ", "location ", '{"', "0 0 a:"]
)
def test_the_time_for_a_hostile_head_grows_with_its_size(line: str) -> None:
    """Not with the square of it: four times as much of what nearly fits takes about four times as long, not 16."""
    least_s = dict.fromkeys((16_384, 65_536), math.inf)
    for _, size in itertools.product(range(5), least_s):
        text = (line * size)[:size]
        started = time.process_time()
        kind_of(text)
        least_s[size] = min(least_s[size], time.process_time() - started)
    assert least_s[65_536] < 8 * least_s[16_384]
