"""Files of any kind, in any order, become figures and one diagnosis; problems with a file are reported next to it."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.evidence_samples import SAMPLES
from tuneproof.errors import BadInputError
from tuneproof.explain import opening as reading
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.explanation import Explanation, explain
from tuneproof.explain.found import Found
from tuneproof.explain.opening import sources
from tuneproof.explain.terminal import render_text

COMBINED = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"'
OWN_FORMAT = "$remote_addr|$status|$request_time|$request"
OWN = "10.0.0.2|499|0.000|GET / HTTP/1.1"
DROPPED = "packets dropped because a CPU's backlog was full"
CONFIGURATION = f"http {{\n  log_format own '{OWN_FORMAT}';\n  access_log /var/log/nginx/access.log own;\n}}\n"


def proc_net(overflows: int) -> str:
    """Return /proc/net/netstat with this many accept queue overflows."""
    return f"TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 {overflows} {overflows}\n"


def softnet(dropped: int) -> str:
    """Return /proc/net/softnet_stat of a machine with one CPU."""
    return f"0000ffff {dropped:08x} 00000000 {' '.join(['00000000'] * 12)}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(*names: str, log_formats: tuple[str, ...] = (), configurations: tuple[str, ...] = ()) -> Explanation:
    return explain(sources(names), log_formats=log_formats, configurations=[Path(name) for name in configurations])


def figure(found: Found, name: str) -> float | str | None:
    """Return the value of the one figure with this name, or with this in brackets after it."""
    (value,) = [figure.value for figure in found.figures if name == figure.name or f"({name})" in figure.name]
    return value


def test_times_of_an_unknown_unit_are_reported(folder: Path) -> None:
    line = '{"request": "GET / HTTP/1.1", "status": 200, "request_time": 1350}'
    (folder / "access.log").write_text(f"{line}\n" * 3)
    (found,) = explained("access.log").found
    (warning,) = found.warnings
    assert warning.startswith("request_time is left out in 3 requests: nginx logs seconds with three decimals, ")


@pytest.mark.parametrize(
    ("times", "longest_s"),
    [((0, 1, 0.2, 3, 0.05), 3.0), ((12, 150, 0.2, 340, 2.5), None)],
    ids=["few whole numbers", "most are whole"],
)
def test_decimals_show_whether_the_whole_numbers_are_seconds(
    times: tuple[float, ...], longest_s: float | None, folder: Path
) -> None:
    """A log shipper that reads 1.000 as a number may write 1; rounded milliseconds are mostly whole numbers."""
    (folder / "access.log").write_text(
        "".join(f'{{"request": "GET / HTTP/1.1", "status": 200, "request_time": {time}}}\n' for time in times)
    )
    (found,) = explained("access.log").found
    assert len(found.warnings) == (longest_s is None)
    (log,) = explained("access.log").evidence.access_logs
    assert (log.content.request_time_s.maximum if log.content.request_time_s else None) == longest_s


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_with_a_header_is_read_by_its_columns(separator: str, folder: Path) -> None:
    """A log service exports such tables; the header is no request, and a quoted value may contain the separator."""
    row = separator.join(("2026-11-20T09:36:16+00:00", f'"GET /a{separator}b HTTP/1.1"', "502", "0.250"))
    header = separator.join(("@timestamp", "request", '"status"', "requestTime"))
    (folder / "log.csv").write_text(f"\ufeff{header}\r\n" + f"{row}\r\n" * 3)
    (found,) = explained("log.csv").found
    assert (found.kind, found.warnings) == (Kind.ACCESS_LOG, ())
    assert (figure(found, "requests"), figure(found, "format"), figure(found, "request time, longest")) == (
        3,
        "CSV",
        0.25,
    )
    assert figure(found, "responses with status 502") == 3


@pytest.mark.parametrize("text", ["name,status,path\na,b,c\n", "status;time\n200\n", "status,time,request\n"])
def test_a_table_without_requests_is_no_log(text: str, folder: Path) -> None:
    (folder / "table.csv").write_text(text)
    (found,) = explained("table.csv").found
    assert found.kind is None


def test_a_log_in_a_usual_format_is_read(folder: Path) -> None:
    (folder / "core.dump").write_bytes(gzip.compress(f"{COMBINED}\n".encode() * 3))
    explanation = explained("core.dump")
    (found,) = explanation.found
    assert (found.name, found.kind, found.error) == ("core.dump", Kind.ACCESS_LOG, None)
    assert (figure(found, "requests"), figure(found, "format")) == (3, "combined")
    assert explanation.evidence.access_logs[0].content.requests == 3


def test_a_containers_output_is_both_logs(folder: Path) -> None:
    """Lines of requests and of errors alternate, and neither kind disturbs the other."""
    requests = [f'10.0.0.9 - - [22/Nov/2026:14:50:0{n} +0000] "GET / HTTP/1.1" 502 157 "-" "curl/8"' for n in range(6)]
    refused = (
        "2026/11/22 14:50:00 [error] 29#29: *1 connect() failed (111: Connection refused) while connecting to upstream"
    )
    text = "".join(f'{request}\n{refused}, upstream: "http://10.0.0.5:80/"\n' for request in requests)
    (folder / "docker.log").write_text(f"{text}10.0.0.9 broken\n")
    (folder / "error.log").write_text(f"{refused}\n" * 6)
    found = explained("docker.log")
    (file,) = found.found
    assert (file.kind, file.error) == (Kind.ACCESS_LOG, None)
    assert (figure(file, "requests"), figure(file, "connections that upstreams refused")) == (6, 6)
    assert [warning[:7] for warning in file.warnings[-1:]] == ["line 13"]
    assert found.diagnosis.assessments[0].verdict is CauseVerdict.FOUND
    (alone,) = explained("error.log").found
    assert (alone.kind, alone.warnings, figure(alone, "messages")) == (Kind.ERROR_LOG, (), 6)


def test_lines_in_another_format_are_reported_with_samples(folder: Path) -> None:
    (folder / "log").write_text(f"{COMBINED}\nnginx: worker exited\n{COMBINED}\n")
    (found,) = explained("log").found
    assert figure(found, "requests") == 2
    assert any("2 are in the format combined" in warning for warning in found.warnings)
    assert any(warning.startswith("line 2 is not in the format") for warning in found.warnings)


def test_a_configuration_gives_the_logs_next_to_it_their_format(folder: Path) -> None:
    """The configuration's name may come later, and it is reported itself, too. Formats can also be given separately."""
    (folder / "log").write_text(f"{OWN}\n")
    (folder / "conf").write_text(CONFIGURATION)
    alone, (log, configuration) = explained("log").found, explained("log", "conf").found
    assert alone[0].error is not None
    assert (log.name, log.kind) == ("log", Kind.ACCESS_LOG)
    assert (figure(log, "format"), figure(log, "abandoned by the client (499)")) == ("own", 1)
    assert (configuration.kind, figure(configuration, "log_format own")) == (Kind.NGINX_CONF, OWN_FORMAT)
    copied = f"log_format own '{OWN_FORMAT}';"
    for given in (
        explained("log", log_formats=(OWN_FORMAT,)),
        explained("log", log_formats=(copied,)),
        explained("log", configurations=("conf",)),
    ):
        assert [(file.name, figure(file, "requests")) for file in given.found] == [("log", 1)]


EMERG = 'nginx: [emerg] host not found in upstream "a" in /etc/nginx/a.conf:1'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{EMERG}\nserver {{\n listen 80;\n}}\n", Kind.ERROR_LOG),
        (f"Why?\n```\n{EMERG}\n```\nserver {{\n listen 80;\n```\n", Kind.ERROR_LOG),
        ("Why?\n```\nserver {\n listen 80;\n```\n", Kind.NGINX_CONF),
    ],
)
def test_a_message_next_to_a_configuration_is_read(folder: Path, text: str, kind: Kind) -> None:
    """A question often contains both, and the configuration need not be complete."""
    (folder / "question").write_text(text)
    found = explained("question")
    assert found.found[0].kind is kind
    rows = [each.row.id for each in found.messages.problems]
    assert rows == (["upstream_host_not_found_at_start"] if kind is Kind.ERROR_LOG else [])


def test_fields_after_combined_are_left_out_with_a_notice(folder: Path) -> None:
    (folder / "log").write_text(f'{COMBINED} "-" 0.005 0.004 .\n' * 9)
    (found,) = explained("log").found
    assert (figure(found, "requests"), figure(found, "format")) == (9, "combined and more")
    assert any("are not read" in warning for warning in found.warnings)


def test_an_invalid_format_is_bad_input(folder: Path) -> None:
    (folder / "log").write_text(OWN)
    (folder / "conf").write_text("http {")
    for text in ("", "no variables"):
        with pytest.raises(BadInputError) as caught:
            explained("log", log_formats=(text,))
        assert caught.value.where.startswith("--log-format ")
    with pytest.raises(BadInputError) as caught:
        explained("log", configurations=("conf",))
    assert caught.value.where == "conf"


def test_a_log_that_does_not_match_the_given_format_is_reported_with_the_place(folder: Path) -> None:
    """A user who gives a format expects the file to be a log."""
    (folder / "log").write_text("10.0.0.2|499|soon|GET / HTTP/1.1\n")
    (found,) = explained("log", log_formats=(OWN_FORMAT,)).found
    assert found.error is not None
    assert "as an access log: line 1, column 14: " in found.error


def test_counters_of_two_files_are_compared_in_their_order(folder: Path) -> None:
    """The files' names do not matter: the first file is the earlier one, and the comparison comes last.

    If counters went backwards, only the user knows whether the files were swapped.
    """
    (folder / "z").write_text(proc_net(5))
    (folder / "a").write_text(proc_net(12))
    found = explained("z", "a").found
    assert [(file.name, figure(file, "TcpExt.ListenOverflows")) for file in found] == [
        ("z", 5),
        ("a", 12),
        ("z -> a", 7),
    ]
    assert found[2].warnings == ()
    backwards = explained("a", "z").found[2]
    assert [warning.startswith("counters went backwards") for warning in backwards.warnings] == [True]


def test_only_readings_of_the_same_kind_are_compared(folder: Path) -> None:
    """/proc/net/netstat and /proc/net/snmp alternate, each with its own predecessor; two tools share nothing."""
    for number in (1, 2):
        (folder / f"netstat{number}").write_text(proc_net(number))
        (folder / f"snmp{number}").write_text(f"Tcp: OutSegs RetransSegs\nTcp: {number}00 {number}\n")
        (folder / f"softnet{number}").write_text(softnet(number))
    (folder / "nstat").write_text("#kernel\nTcpExtListenOverflows           12                 0.0\n")
    found = explained("netstat1", "snmp1", "softnet1", "netstat2", "snmp2", "softnet2", "nstat").found
    assert [file.name for file in found[7:]] == ["netstat1 -> netstat2", "snmp1 -> snmp2", "softnet1 -> softnet2"]
    assert figure(found[9], DROPPED) == 1


def test_two_readings_in_one_file_are_compared_there(folder: Path) -> None:
    (folder / "loop").write_text(f"Fri Nov 20\n{proc_net(5)}Fri Nov 20\n{proc_net(9)}")
    (folder / "softnet").write_text(softnet(3) + softnet(10))
    found, cpus = explained("loop", "softnet").found
    assert (figure(found, "readings"), figure(found, "TcpExt.ListenOverflows"), figure(cpus, DROPPED)) == (2, 4, 7)
    assert found.warnings == ("lines without figures: 2, such as 'Fri Nov 20', 'Fri Nov 20'",)


def test_several_processes_in_one_file_are_distinguished(folder: Path) -> None:
    """A user may have run ``cat /proc/PID/status`` for all workers."""
    (folder / "status").write_text(
        "".join(f"Name:\tnginx\nPid:\t{pid}\nVmRSS:\t    {pid}00 kB\nRssAnon:\t    {pid} kB\n" for pid in (31, 32))
    )
    explanation = explained("status")
    (found,) = explanation.found
    assert figure(found, "nginx 31: resident memory, its own") == 31 << 10
    assert figure(found, "nginx 32: resident memory, its own") == 32 << 10
    assert [len(named.content) for named in explanation.evidence.processes] == [2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello\nworld\n", "first line 'hello'; --help lists what is"),
        (b"\xfd7zXZ\x00x", "only a part could be unpacked: "),
        (b"\0\1\2" * 9, "binary data, or UTF-16 without its mark"),
        (b"x" * 200, f"first line '{'x' * 80} ...'"),
    ],
)
def test_an_unknown_file_is_reported_and_the_others_are_read(content: bytes, reason: str, folder: Path) -> None:
    """The report has the file's start, and what would be recognised."""
    (folder / "unknown").write_bytes(content)
    (folder / "log").write_text(COMBINED)
    explanation = explained("unknown", "log")
    unknown, log = explanation.found
    assert unknown.kind is None
    assert unknown.error is not None
    assert unknown.error.startswith(("not recognised: ", "not read: "))
    assert reason in unknown.error
    assert log.error is None
    assert explanation.any_read
    assert not explained("unknown").any_read


# These lines are composed from the providers' descriptions of their fields.
_STAMP: Final = "2026-03-14T09:10:00.123456Z"
_ALB: Final = (
    f"https {_STAMP} app/shop/0123456789abcdef 203.0.113.9:40000 10.0.3.7:80 0.001 12.020 0.000 200 200 320 5000 "
    '"GET https://shop.example:443/cart HTTP/2.0" "Mozilla/5.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 '
    'arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/nginx/fedcba9876543210 "Root=1-65f2c0de-0" '
    f'"shop.example" "arn:aws:acm:eu-west-1:111122223333:certificate/abc" 1 {_STAMP} "forward" "-" "-" "10.0.3.7:80" '
    '"200" "-" "-"'
)
_CLASSIC: Final = (
    f'{_STAMP} shop 203.0.113.9:40000 - -1 -1 -1 503 0 0 0 "GET http://shop.example:80/ HTTP/1.1" "curl/7.38.0" - -'
)
_GOOGLE: Final = json.dumps(
    {
        "httpRequest": {"requestMethod": "GET", "status": 502, "latency": "0.020s", "remoteIp": "203.0.113.9"},
        "jsonPayload": {"@type": "type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry"},
        "timestamp": _STAMP,
    }
)
_AZURE: Final = json.dumps(
    {"category": "ApplicationGatewayAccessLog", "time": _STAMP, "properties": {"httpStatus": 502, "timeTaken": 0.1}}
)


_NLB: Final = "an AWS Network Load Balancer"


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        (_ALB, "an AWS Application Load Balancer"),
        (_CLASSIC, "an AWS Classic Load Balancer"),
        (_GOOGLE, "a Google Cloud load balancer"),
        (json.dumps([json.loads(_GOOGLE)], indent=2), "a Google Cloud load balancer"),
        (_AZURE, "an Azure Application Gateway"),
        ("#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip", "Amazon CloudFront"),
        ("tls 2.0 2026-03-14T09:10:00 net/shop/0123456789abcdef 0a1b 203.0.113.9:1 10.0.3.7:443 5 2", _NLB),
        ('{"ClientIP":"203.0.113.9","EdgeResponseStatus":200}', "Cloudflare"),
    ],
)
def test_the_log_of_a_proxy_in_front_of_nginx_is_named_and_not_read(line: str, writer: str, folder: Path) -> None:
    """The log gives no figure, and no option would help."""
    (folder / "log").write_text(f"{line}\n" * 3)
    (found,) = explained("log").found
    assert (found.kind, found.figures) == (None, ())
    assert found.error == (
        f"an access log of {writer}: its times cover nginx and all that is behind it, and do not tell them apart; give "
        "nginx's own access log of the same period"
    )


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        (
            (
                "[Thu Nov 26 09:00:01.123456 2026] [proxy:error] [pid 12:tid 14] (111)Connection refused: AH00957: "
                "HTTP: attempt to connect to 127.0.0.1:3000 (localhost) failed"
            ),
            "Apache httpd",
        ),
        ("[Thu Nov 26 09:00:01 2026] [error] [client 10.0.0.9] File does not exist: /var/www/a", "Apache httpd"),
        ("Nov 26 09:00:01 lb haproxy[12]: Server web/a is DOWN, reason: Layer4 connection problem", "HAProxy"),
        ("#Software: Microsoft Internet Information Services 10.0", "IIS, or another server with W3C's format"),
        (
            "Mar 14 09:10:00 lb haproxy[77]: 10.0.0.9:4000 [14/Mar/2026:09:10:00.655] in shop/a 10/0/30/69/109 200 5",
            "HAProxy",
        ),
        ("203.0.113.9:4000 [14/Mar/2026:09:10:00.655] in shop/a 10/0/30/69/109 200 5 - - ----", "HAProxy"),
        (
            '[2026-03-14T09:10:00.310Z] "GET /a HTTP/1.1" 200 - 0 154 2 1 "-" "curl/8" "id" "shop" "10.0.3.7:80"',
            "Envoy",
        ),
        (f'{{"start_time":"{_STAMP}","method":"GET","response_code":200,"response_flags":"-"}}', "Envoy"),
        ('{"level":"info","ts":1.5,"logger":"http.log.access.log0","status":502,"duration":0.01}', "Caddy"),
        (f'{{"DownstreamStatus":200,"RouterName":"web@docker","time":"{_STAMP}"}}', "Traefik"),
        (f'{COMBINED} 7 "web@docker" "http://10.0.3.7:80" 12ms', "Traefik"),
        (
            "1773479400.000    120 203.0.113.9 TCP_MISS/200 4512 GET http://shop/ - HIER_DIRECT/10.0.3.7 text/html",
            "Squid",
        ),
        (f"{'0' * 64} bucket [14/Mar/2026:09:10:00 +0000] 203.0.113.9 - 3E57 REST.GET.OBJECT a", "Amazon S3"),
    ],
)
def test_the_log_of_another_server_is_named_and_not_read_as_nginxs(line: str, writer: str, folder: Path) -> None:
    """Some logs use nginx's names with other meanings. A format that the user gives takes precedence."""
    (folder / "log").write_text(f"{line}\n" * 3)
    (found,) = explained("log").found
    assert (found.kind, found.figures) == (None, ())
    assert found.error == f"a log of {writer}, which explain does not read; give nginx's own logs of the same time"
    (given,) = explained("log", log_formats=("$status",)).found
    assert found.error != given.error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Active connections: 291 \nserver accepts handled requests\n 16 16 31 \n", "nginx's stub_status"),
        ("Total: 1230\nTCP:   800 (estab 500, closed 250)\n", "ss -tanmi prints"),
        (
            "Active Internet connections (servers)\nProto Recv-Q Send-Q Local Address\n",
            "sockets as netstat prints them",
        ),
        ("  sl  local_address rem_address   st\n   0: 00000000:0050 00000000:0000 0A\n", "/proc/net/tcp"),
        ("sockets: used 1234\nTCP: inuse 500 orphan 3\n", "/proc/net/sockstat"),
        ("tcp:\n\t123456 packets sent\n", "only those of Linux"),
        ("net.core.somaxconn = 128\nnet.ipv4.tcp_syncookies = 1\n", "kernel settings"),
        (
            "[pid 12] 09:00:00.123456 epoll_wait(8, [{events=EPOLLIN}], 512, -1) = 1 <0.000012>\n",
            "the output of strace",
        ),
        ("% time     seconds  usecs/call     calls    errors syscall\n", "the output of strace"),
        ("# To display the perf.data header info\n# Samples: 4K\n", "a profile of perf"),
        ("09:00:00.000001 IP 10.9.0.1.51234 > 10.0.0.1.80: Flags [S], seq 1, length 0\n", "tcpdump -w FILE"),
        ("09:00:00.000001 eth0  In  IP6 ::1.5 > ::1.80: Flags [S], seq 1, length 0\n", "tcpdump -w FILE"),
        ('{\n  "log": {\n    "version": "1.2",\n    "entries": []\n  }\n}\n', "a HAR file"),
        ("procs -----------memory---------- ---swap--\n", "vmstat, top, sar"),
        ("--procs-- -----------------------memory---------------------- ---swap--\n", "vmstat, top, sar"),
        ("     24684084 K total memory\n      7044964 K used memory\n", "vmstat, top, sar"),
        ("top - 09:00:00 up 10 days,  1:02,  1 user\n", "vmstat, top, sar"),
        ("Linux 6.1.0 (a) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n09:00:00        CPU     %user\n", "vmstat, top, sar"),
        (
            "Linux 6.1.0 (a) \t11/27/26 \t_x86_64_\t(2 CPU)\n\n09:00:00     active/s passive/s\n",
            "sar's rates of the whole machine: nstat -az",
        ),
        (
            "Linux 6.1.0 (a) \t11/27/26\n\n03:25:52 PM     IFACE   rxpck/s   txpck/s\n",
            "sar's rates of the whole machine: nstat -az",
        ),
        ("#kernel\n", "nstat without a counter"),
        ("Kernel Interface table\nIface      MTU    RX-OK RX-ERR RX-DRP\n", "a list of interfaces"),
        ("Summary:\n  Total:\t1.0 secs\n  Requests/sec:\t200.0\n", "another load generator's report"),
        ("tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 dport=80\n", "connection tracking"),
        ("2: eth0: <BROADCAST,UP> mtu 1500 qdisc fq state UP\n", "a list of interfaces"),
        ("# HELP nginx_connections_accepted Accepted client connections\n", "metrics for Prometheus"),
        ("*   Trying 10.0.0.1:80...\n> GET / HTTP/1.1\n", "the output of curl -v"),
        ('[{"status": 200, "request": "GET / HTTP/1.1"}]\n', "jq -c '.[]'"),
        ('{\n  "status": 200\n}\n', "jq -c"),
        ('{"st": 200, "rt": 0.1}\n{"st": 200, "rt": 0.1}\n', "--nginx-conf FILE with its log_format"),
    ],
)
def test_a_text_that_is_known_but_not_read_gets_one_sentence(text: str, said: str, folder: Path) -> None:
    """The sentence names the kind of text, or the file to give instead."""
    (folder / "text").write_text(text)
    (found,) = explained("text").found
    assert found.error is not None
    assert found.error.startswith("not read: ")
    assert said in found.error


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
def test_a_packed_file_that_cannot_be_read_is_named(content: bytes, packing: str, folder: Path) -> None:
    (folder / "packed").write_bytes(content)
    (found,) = explained("packed").found
    assert found.error == f"{packing}: unpack it first (only gzip, bzip2 and xz are unpacked here)"


def test_a_field_of_an_unknown_log_is_shown_in_short(folder: Path) -> None:
    (folder / "log").write_text(f"10.0.0.2 200 {'x' * 60_000} 5 6\n")
    (found,) = explained("log").found
    assert found.error is not None
    assert len(found.error) < 500


def test_a_loop_of_ss_has_the_figures_of_its_last_call(folder: Path) -> None:
    (folder / "ss").write_text("LISTEN 9 5 0.0.0.0:80 0.0.0.0:*\nnow\nLISTEN 1 5 0.0.0.0:80 0.0.0.0:*\n")
    explanation = explained("ss")
    (found,) = explanation.found
    assert (figure(found, "readings"), figure(found, "waiting for accept on 0.0.0.0:80")) == (2, 1)
    reasons = [reason.text for each in explanation.diagnosis.found for reason in each.for_]
    assert reasons == ["9 connections wait to be accepted at 0.0.0.0:80: 1 of 1 queue full."]


def test_in_a_folder_a_truncated_file_is_read_and_an_unknown_one_is_reported_briefly(
    folder: Path,
) -> None:
    """A warning reports that the rest is missing."""
    text = "".join(f"{COMBINED.replace('612', str(number * 7919))}\n" for number in range(30_000))
    packed = gzip.compress(text.encode())
    (folder / "evidence").mkdir()
    (folder / "evidence" / "log.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "evidence" / "notes").write_text("hello")
    log, notes = explained("evidence").found
    requests = figure(log, "requests")
    assert isinstance(requests, int | float)
    assert 5_000 < requests < 25_000
    assert any(warning.startswith("only a part could be unpacked") for warning in log.warnings)
    assert notes.error == "not recognised: first line 'hello'"


def test_a_malformed_file_is_reported_with_its_place(folder: Path) -> None:
    (folder / "netstat").write_text("TcpExt: A B\nTcpExt: 1 2\nTcpExt: A B\nTcpExt: 1 x\n")
    (found,) = explained("netstat").found
    assert found.kind == Kind.PROC_NET
    assert found.error is not None
    assert found.error.startswith("line 4, column 11: ")


def test_a_text_that_is_too_long_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "TEXT_LIMIT_BYTES", 1 << 20)
    (folder / "netstat").write_text(proc_net(1) * 20_000)
    (folder / "log").write_text(f"{COMBINED}\n" * 20_000)
    counters, log = explained("netstat", "log").found
    assert counters.error == "more than 1 MiB of text; only captures and access logs may be that long"
    assert figure(log, "requests") == 20_000


def test_a_broken_file_in_a_folder_affects_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken file that was named is bad input; one that was found in a folder is reported."""
    (folder / "evidence").mkdir()
    (folder / "evidence" / "a.log").write_text(COMBINED)
    (folder / "evidence" / "b.log").write_text(COMBINED)
    read = Path.open

    def refused(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "a.log":
            raise PermissionError(13, "Permission denied")
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refused)
    found = explained("evidence").found
    assert [(file.name, file.error) for file in found] == [
        ("a.log", "The file cannot be read: Permission denied."),
        ("b.log", None),
    ]
    with pytest.raises(BadInputError, match="Permission denied"):
        explained("evidence/a.log")


def test_all_kinds_are_read_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing else is printed meanwhile; damaged files are tested in tests/fuzz."""
    texts = {kind: text for kind, text in SAMPLES.items() if kind is not Kind.CAPTURE}
    for kind, text in {**texts, Kind.ACCESS_LOG: f"{COMBINED}\n" * 3}.items():
        (tmp_path / kind.name).write_text(text)
    explanation = explain(sources([str(tmp_path)]))
    text = render_text(explanation.found, explanation.diagnosis, width=80, color=False, everything=True)
    assert capsys.readouterr() == ("", "")
    assert "error:" not in text
    assert [kind for kind in Kind if kind is not Kind.CAPTURE and f": {kind}\n" not in text] == []


def test_the_same_messages_in_two_files_count_once(folder: Path) -> None:
    """The files are a log, and the container's output of the same time."""
    lines = [
        f"2026/11/26 09:00:0{second} [error] 7#7: *{second} no live upstreams while connecting to upstream, "
        f'client: 10.0.0.9, server: a, request: "GET / HTTP/1.1", upstream: "http://app/", host: "a"'
        for second in range(3)
    ]
    (folder / "error.log").write_text("\n".join(lines))
    (folder / "docker.txt").write_text("\n".join(f"web-1  | {line}" for line in lines))
    explanation = explained("error.log", "docker.txt")
    assert [each.number for each in explanation.messages.problems] == [3]
    assert explanation.found[1].warnings == ("has the same messages as error.log: they count once",)


def refusals(*connections: int, pid: int = 7) -> str:
    """Return messages, each a minute after the previous one, except a last one without a connection."""
    lines = [
        f"2026/11/26 09:{number % 60:02}:00 [error] {pid}#{pid}: *{number} connect() failed (111: Connection refused) "
        f'while connecting to upstream, client: 10.0.0.9, server: a, request: "GET / HTTP/1.1", upstream: '
        f'"http://10.0.0.5:80/", host: "a"\n'
        for number in connections
    ]
    return "".join(lines)


def test_messages_in_two_error_logs_count_once(folder: Path) -> None:
    """A second file repeats the end of a growing log, as another program's prefixed output."""
    (folder / "copy.txt").write_text("".join(f"web-1  | {line}\n" for line in refusals(*range(20, 30)).splitlines()))
    (folder / "error.log").write_text(refusals(*range(40)))
    explanation = explained("copy.txt", "error.log")
    assert [each.number for each in explanation.messages.problems] == [40]
    said = "its messages are in error.log as well: they count once"
    assert [file.warnings for file in explanation.found] == [(said,), ()]


def test_error_logs_that_overlap_are_reported(folder: Path) -> None:
    (folder / "error.log.1").write_text(refusals(*range(30)))
    (folder / "error.log").write_text(refusals(*range(24, 50)))
    explanation = explained("error.log.1", "error.log")
    said = "about 23.1 % of its messages about connections are in error.log.1 as well: they count twice"
    assert [file.warnings for file in explanation.found] == [(), (said,)]
    assert [each.number for each in explanation.messages.problems] == [56]


def test_other_connections_and_hosts_have_other_messages(folder: Path) -> None:
    """Equal counts and times are no copies, and neither are starts of two containers in the same second."""
    started = '2026/11/26 09:00:00 [emerg] 1#1: host not found in upstream "app" in /etc/nginx/nginx.conf:9\n'
    (folder / "a.log").write_text(refusals(*range(10)))
    (folder / "b.log").write_text(refusals(*range(10), pid=9))
    (folder / "c.log").write_text(started * 2)
    (folder / "d.log").write_text(started)
    explanation = explained("a.log", "b.log", "c.log", "d.log")
    assert [file.warnings for file in explanation.found] == [(), (), (), ()]
    assert sorted(each.number for each in explanation.messages.problems) == [3, 20]


def test_a_log_with_later_starts_is_no_copy(folder: Path) -> None:
    later = '2026/11/26 10:00:00 [emerg] 1#1: host not found in upstream "app" in /etc/nginx/nginx.conf:9\n'
    (folder / "a.log").write_text(refusals(*range(10)))
    (folder / "b.log").write_text(refusals(*range(5)) + later)
    explanation = explained("a.log", "b.log")
    said = "about 100 % of its messages about connections are in a.log as well: they count twice"
    assert [file.warnings for file in explanation.found] == [(), (said,)]


def requests(*numbers: int) -> str:
    return "".join(COMBINED.replace("GET /", f"GET /{number}") + "\n" for number in numbers)


def test_requests_in_two_access_logs_count_once(folder: Path) -> None:
    """The end of a log was copied earlier, and a container's output repeats the same lines."""
    (folder / "end.log").write_text(requests(*range(60, 100)))
    (folder / "access.log").write_text(requests(*range(100)))
    (folder / "again.log").write_text(requests(*range(100)))
    explanation = explained("end.log", "access.log", "again.log")
    assert [log.name for log in explanation.evidence.access_logs] == ["access.log"]
    said = "its requests are in access.log as well: they count once"
    assert [file.warnings for file in explanation.found] == [(said,), (), (said,)]


def test_access_logs_that_overlap_are_reported(folder: Path) -> None:
    (folder / "a.log").write_text(requests(*range(100)))
    (folder / "b.log").write_text(requests(*range(70, 190)))
    (folder / "c.log").write_text(requests(*range(170, 400)))
    (folder / "d.log").write_text(requests(*range(1000, 1100), *range(5)))
    explanation = explained("a.log", "b.log", "c.log", "d.log")
    assert [file.warnings for file in explanation.found] == [
        ("about 30 % of its lines are in b.log as well: they count twice",),
        ("about 16.7 % of its lines are in c.log as well: they count twice",),
        (),
        (),
    ]
    assert len(explanation.evidence.access_logs) == 4


@pytest.mark.parametrize("number", [8, 600])
def test_one_monitors_requests_to_two_hosts_are_different_requests(number: int, folder: Path) -> None:
    """The monitor asks both hosts in the same seconds, so that their lines are equal."""
    lines = [
        f"10.0.0.1 - - [20/Nov/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000] "
        '"GET /health HTTP/1.1" 200 2 "-" "kube-probe/1.30"\n'
        for second in range(0, 5 * number, 5)
    ]
    for name in ("web1.log", "web2.log"):
        (folder / name).write_text("".join(lines))
    explanation = explained("web1.log", "web2.log")
    assert [log.content.requests for log in explanation.evidence.access_logs] == [number, number]
    said = (
        "its lines are in web1.log as well, and differ from each other only in their times: they count as one client's "
        "requests to two hosts; if it is a copy, leave it out"
    )
    assert [file.warnings for file in explanation.found] == [(), (said,)]


def test_equal_lines_without_a_time_are_different_requests(folder: Path) -> None:
    for name in ("a.log", "b.log"):
        (folder / name).write_text("10.0.0.2|200|0.001|GET / HTTP/1.1\n" * 50)
    explanation = explained("a.log", "b.log", log_formats=(OWN_FORMAT,))
    assert [log.content.requests for log in explanation.evidence.access_logs] == [50, 50]
