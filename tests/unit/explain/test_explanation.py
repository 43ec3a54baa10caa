"""Files of any kind become figures and one diagnosis; a problem with a file is reported with its name."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.support.evidence_samples import SAMPLES
from tests.support.explained import explained, figure
from tuneproof.errors import BadInputError
from tuneproof.explain import opening as reading
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources
from tuneproof.explain.parse.figures import distribution
from tuneproof.explain.terminal import render_text

COMBINED = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"'
OWN_FORMAT = "$remote_addr|$status|$request_time|$request"
OWN = "10.0.0.2|499|0.000|GET / HTTP/1.1"
DROPPED = "packets dropped because a CPU's backlog was full"
CONFIGURATION = f"http {{\n  log_format own '{OWN_FORMAT}';\n  access_log /var/log/nginx/access.log own;\n}}\n"


def proc_net(overflows: int) -> str:
    """Return /proc/net/netstat with this many accept queue overflows."""
    return f"TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 {overflows} {overflows}\n"


def of_kernel(names: str, value: int) -> str:
    """Return /proc/net/netstat of a kernel that has these counters in TcpExt, all with this value."""
    values = " ".join([str(value)] * len(names.split()))
    return f"TcpExt: {names}\nTcpExt: {values}\nIpExt: InCsumErrors\nIpExt: 0\n"


def softnet(dropped: int, *, cpu: int = 0) -> str:
    """Return /proc/net/softnet_stat of a machine with one CPU, or a further CPU's line."""
    return f"0000ffff {dropped:08x} 00000000 {' '.join(['00000000'] * 9)} {cpu:08x} 00000000 00000000\n"


TIMES = {
    "half whole numbers": ((0, 1, 0.2, 3, 0.05), 3.0),
    "mostly whole numbers": ((12, 150, 0.2, 340, 2.5), None),
    "median above 10": ((1234.567, 0.25, 58.125), None),
    "whole numbers with .0": ((58.0, 3.0), None),
    "median above 1": ((3.214, 2.75, 8.5, 0.412), None),
    "median below 1": ((0.25, 0.75, 58.125), 58.125),
    "one is too short for milliseconds": ((0.004, 3.214, 58.125), 58.125),
}


@pytest.mark.parametrize(("times", "longest_s"), TIMES.values(), ids=TIMES)
def test_times_without_a_unit_are_read_only_if_they_look_like_seconds(
    times: tuple[float, ...], longest_s: float | None, tmp_path: Path
) -> None:
    """A log shipper that reads 1.000 as a number may write 1; milliseconds are mostly whole, or mostly above 1."""
    text = "".join(f'{{"request": "GET / HTTP/1.1", "status": 200, "request_time": {time}}}\n' for time in times)
    explanation = explained(tmp_path, {"access.log": text})
    warning = "request_time is left out in {} requests: nginx logs seconds with three decimals, "
    warned = [found.partition("and")[0] for found in explanation.found[0].warnings]
    assert warned == ([warning.format(len(times))] if longest_s is None else [])
    (log,) = explanation.evidence.access_logs
    assert (log.content.request_time_s.maximum if log.content.request_time_s else None) == longest_s


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_with_a_header_is_read_by_its_columns(separator: str, tmp_path: Path) -> None:
    """Log services export such tables. The header is not a request, and a quoted value may contain the separator."""
    row = separator.join(("2026-11-20T09:36:16+00:00", f'"GET /a{separator}b HTTP/1.1"', "502", "0.250"))
    header = separator.join(("@timestamp", "request", '"status"', "requestTime"))
    (found,) = explained(tmp_path, {"log.csv": f"\ufeff{header}\r\n" + f"{row}\r\n" * 3}).found
    assert (found.kind, found.warnings) == (Kind.ACCESS_LOG, ())
    assert (figure(found, "requests"), figure(found, "format"), figure(found, "request time, longest")) == (
        3,
        "CSV",
        0.25,
    )
    assert figure(found, "responses with status 502") == 3


def test_a_containers_output_is_read_as_both_logs(tmp_path: Path) -> None:
    """Lines about requests and errors alternate, and neither kind disturbs the other."""
    requests = [f'10.0.0.9 - - [22/Nov/2026:14:50:0{n} +0000] "GET / HTTP/1.1" 502 157 "-" "curl/8"' for n in range(6)]
    refused = (
        "2026/11/22 14:50:00 [error] 29#29: *1 connect() failed (111: Connection refused) while connecting to upstream"
    )
    text = "".join(f'{request}\n{refused}, upstream: "http://10.0.0.5:80/"\n' for request in requests)
    found = explained(tmp_path, {"docker.log": f"{text}10.0.0.9 broken\n"})
    (file,) = found.found
    assert (file.kind, file.error) == (Kind.ACCESS_LOG, None)
    assert (figure(file, "requests"), figure(file, "connections that upstreams refused")) == (6, 6)
    assert [warning[:7] for warning in file.warnings[-1:]] == ["line 13"]
    assert found.diagnosis.assessments[0].verdict is CauseVerdict.FOUND
    (alone,) = explained(tmp_path, {"error.log": f"{refused}\n" * 6}).found
    assert (alone.kind, alone.warnings, figure(alone, "messages")) == (Kind.ERROR_LOG, (), 6)


COMPOSED = "".join(f"nginx-{n}  | {COMBINED}\napp-1    | {COMBINED}\n" for n in (1, 2) * 10)


@pytest.mark.parametrize(
    ("text", "requests", "warning"),
    [
        (COMPOSED, 20, "requests in the lines of app are left out: that is not nginx"),
        (
            COMPOSED.replace("nginx", "\x1b[36mnginx"),
            20,
            "requests in the lines of app are left out: that is not nginx",
        ),
        (
            COMPOSED.replace("nginx", "proxy"),
            40,
            "its requests are from proxy and app: if nginx and the application log the same requests, they count twice",
        ),
        (COMPOSED.replace("nginx", "app"), 40, ""),
    ],
    ids=["nginx", "colours", "unknown", "replicas"],
)
def test_an_applications_requests_are_left_out_only_if_other_lines_are_nginxs(
    text: str, requests: int, warning: str, tmp_path: Path
) -> None:
    (found,) = explained(tmp_path, {"compose.log": text}).found
    assert figure(found, "requests") == requests
    assert found.warnings == ((warning,) if warning else ())


RELOADED = 'I1120 09:00:00.123456       7 controller.go:190] "Configuration changes detected, backend reload required"'


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("nginx-1  | ", "app-1    | 2026-11-20T09:00:00Z INFO handled in 20ms"),
        ("[pod/web-7d9c/nginx] ", "[pod/web-7d9c/app] INFO handled in 20ms"),
        ("Nov 20 09:00:00 web1 nginx: ", "Nov 20 09:00:00 web1 CRON[1234]: (root) CMD (true)"),
        ("2026-11-20T09:00:00.123456+01:00 web1 nginx[7]: ", "2026-11-20T09:00:00.123456+01:00 web1 sshd[9]: closed"),
        ("", RELOADED),
        ("[pod/ingress-nginx-7d5b/controller] ", f"[pod/ingress-nginx-7d5b/controller] {RELOADED}"),
    ],
    ids=["compose", "kubectl", "syslog", "journald", "ingress-nginx", "ingress-nginx by kubectl"],
)
def test_lines_of_other_programs_do_not_count_as_unread_requests(own: str, other: str, tmp_path: Path) -> None:
    (found,) = explained(tmp_path, {"log": f"{own}{COMBINED}\n{other}\n" * 20}).found
    assert found.warnings == ()
    (log,) = found.evidence.access_logs
    assert (log.content.requests, log.content.unmatched_lines) == (20, 0)
    (own_lines,) = explained(tmp_path, {"log": f"{own}{COMBINED}\n{own}broken\n" * 20}).found
    assert own_lines.evidence.access_logs[0].content.unmatched_lines == 20
    guessed, left_out, sample, *_ = own_lines.warnings
    assert guessed.startswith("of the first 40 lines, 20 are in the format ")
    assert left_out == "20 of 40 lines are not in the format: no figure includes them"
    assert sample.startswith("line 2 is not in the format: ")


def test_a_log_is_read_in_a_format_from_a_configuration_or_an_option(tmp_path: Path) -> None:
    """A configuration among the files may follow the log, and is reported as a file; one given as an option is not."""
    own = {"log": f"{OWN}\n"}
    (alone,), (log, configuration) = (explained(tmp_path, each).found for each in (own, {**own, "conf": CONFIGURATION}))
    assert alone.error is not None
    assert (log.name, log.kind) == ("log", Kind.ACCESS_LOG)
    assert (figure(log, "format"), figure(log, "abandoned by the client (499)")) == ("own", 1)
    assert (configuration.kind, figure(configuration, "log_format own")) == (Kind.NGINX_CONF, OWN_FORMAT)
    copied = f"log_format own '{OWN_FORMAT}';"
    for given in (
        explained(tmp_path, own, log_formats=(OWN_FORMAT,)),
        explained(tmp_path, own, log_formats=(copied,)),
        explained(tmp_path, own, configurations=(tmp_path / "conf",)),
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
def test_a_message_next_to_a_configuration_is_read(tmp_path: Path, text: str, kind: Kind) -> None:
    """Questions in forums often contain both, and the configuration may be incomplete."""
    found = explained(tmp_path, {"question": text})
    assert found.found[0].kind is kind
    rows = [each.row.id for each in found.messages.problems]
    assert rows == (["upstream_host_not_found_at_start"] if kind is Kind.ERROR_LOG else [])


def test_times_with_a_name_after_combined_are_read_and_other_fields_left_out(tmp_path: Path) -> None:
    """Names in a quoted string are ignored, since a client may have sent the string. Whole numbers are ignored, too."""
    fields = '"rt=9.000 " "a urt=9.000" rt=0.014 uct="0.001, 0.001" urt=0.002, 0.012 uht=7 pipe=.'
    explanation = explained(tmp_path, {"log": f"{COMBINED} {fields}\n" * 9})
    (log,) = explanation.evidence.access_logs
    assert figure(explanation.found[0], "format") == "combined and more"
    assert any("after the user agent are not read" in warning for warning in explanation.found[0].warnings)
    assert log.content.request_time_s == distribution([0.014] * 9)
    assert log.content.connect_time_s == distribution([0.001] * 18)
    assert log.content.small_response_s == distribution([0.014] * 9)
    assert log.content.header_minus_connect_s is None


def test_an_invalid_format_or_configuration_is_bad_input(tmp_path: Path) -> None:
    for text in ("", "no variables"):
        with pytest.raises(BadInputError) as caught:
            explained(tmp_path, {"log": OWN}, log_formats=(text,))
        assert caught.value.where.startswith("--log-format ")
    conf = tmp_path / "conf"
    conf.write_text("http {")
    with pytest.raises(BadInputError) as caught:
        explained(tmp_path, {"log": OWN}, configurations=(conf,))
    assert caught.value.where == str(conf)


def test_a_log_that_does_not_match_the_given_format_is_reported_with_the_place(tmp_path: Path) -> None:
    """A user who gives a format expects the file to be a log."""
    (found,) = explained(tmp_path, {"log": "10.0.0.2|499|soon|GET / HTTP/1.1\n"}, log_formats=(OWN_FORMAT,)).found
    assert found.error is not None
    assert "as an access log: line 1, column 14: " in found.error


def test_counters_of_two_files_are_compared_in_their_order(tmp_path: Path) -> None:
    """The files' names do not matter: the first file is the earlier one, and the comparison comes last.

    If counters went backwards, only the user knows whether the files were swapped.
    """
    found = explained(tmp_path, {"z": proc_net(5), "a": proc_net(12)}).found
    assert [(file.name, figure(file, "TcpExt.ListenOverflows")) for file in found] == [
        ("z", 5),
        ("a", 12),
        ("z -> a", 7),
    ]
    assert found[2].warnings == ()
    backwards = explained(tmp_path, {"a": proc_net(12), "z": proc_net(5)}).found[2]
    assert [warning.startswith("counters went backwards") for warning in backwards.warnings] == [True]


@pytest.mark.parametrize(
    ("files", "doubt"),
    [
        ({"web1": of_kernel("ListenOverflows", 5), "web2": of_kernel("TCPTimeouts ListenOverflows", 700)}, "kernels"),
        ({"web1": of_kernel("ListenOverflows", 5), "web2": of_kernel("ListenOverflows", 900_000)}, ""),
        ({"web1": of_kernel("A B ListenOverflows", 30_000), "web2": of_kernel("A B ListenOverflows", 900_000)}, "most"),
        ({"web1": softnet(0), "web2": softnet(900) + softnet(0, cpu=1)}, "numbers of CPUs"),
    ],
    ids=["another kernel", "just started", "far larger counters", "other CPUs"],
)
def test_readings_are_compared_unless_they_seem_to_be_from_two_hosts(
    files: dict[str, str], doubt: str, tmp_path: Path
) -> None:
    """One host has the same counters and CPUs in each reading; most counters over 10,000 grow less than tenfold."""
    explanation = explained(tmp_path, files)
    compared = explanation.found[2]
    assert [doubt in warning for warning in compared.warnings] == ([True] if doubt else [])
    assert bool(compared.figures) is (not doubt)
    found = [reason.text for each in explanation.diagnosis.found for reason in each.for_]
    assert bool(found) is (not doubt)


def test_only_readings_of_the_same_kind_are_compared(tmp_path: Path) -> None:
    """The files netstat and snmp of /proc/net may alternate; outputs of different tools are not compared."""
    files = {}
    for number in (1, 2):
        files[f"netstat{number}"] = proc_net(number)
        files[f"snmp{number}"] = f"Tcp: OutSegs RetransSegs\nTcp: {number}00 {number}\n"
        files[f"softnet{number}"] = softnet(number)
    files["nstat"] = "#kernel\nTcpExtListenOverflows           12                 0.0\n"
    found = explained(tmp_path, files).found
    assert [file.name for file in found[7:]] == ["netstat1 -> netstat2", "snmp1 -> snmp2", "softnet1 -> softnet2"]
    assert figure(found[9], DROPPED) == 1


def test_two_readings_in_one_file_are_compared(tmp_path: Path) -> None:
    loop = f"Fri Nov 20\n{proc_net(5)}Fri Nov 20\n{proc_net(9)}"
    found, cpus = explained(tmp_path, {"loop": loop, "softnet": softnet(3) + softnet(10)}).found
    assert (figure(found, "readings"), figure(found, "TcpExt.ListenOverflows"), figure(cpus, DROPPED)) == (2, 4, 7)
    assert found.warnings == ("lines without figures: 2, such as 'Fri Nov 20', 'Fri Nov 20'",)


def test_several_processes_in_one_file_are_distinguished(tmp_path: Path) -> None:
    """A user may have run ``cat /proc/PID/status`` for all workers."""
    text = "".join(f"Name:\tnginx\nPid:\t{pid}\nVmRSS:\t    {pid}00 kB\nRssAnon:\t    {pid} kB\n" for pid in (31, 32))
    explanation = explained(tmp_path, {"status": text})
    (found,) = explanation.found
    assert figure(found, "nginx 31: resident memory, private") == 31 << 10
    assert figure(found, "nginx 32: resident memory, private") == 32 << 10
    assert [len(named.content) for named in explanation.evidence.processes] == [2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello\nworld\n", "first line 'hello'; --help lists the kinds of files"),
        (b"no live upstreams\n", "first line 'no live upstreams'; ./lab why looks up a part of a message"),
        (b"\xfd7zXZ\x00x", "only a part could be unpacked: "),
        (b"\0\1\2" * 9, "binary data, or UTF-16 without a byte order mark"),
        (b"x" * 200, f"first line '{'x' * 80} ...'"),
        # A log in an unknown format: the error shows its fields.
        (OWN.encode(), "give --nginx-conf FILE with its log_format, or --log-format '$remote_addr ...', to name its"),
        (b"10.0.0.2 200 " + b"x" * 60_000 + b" 5 6\n", f"fields: 10.0.0.2 | 200 | {'x' * 80} | 5 | 6"),
        # Tables without requests are not logs.
        (b"name,status,path\na,b,c\n", "first line 'name,status,path'"),
        (b"status;time\n200\n", "first line 'status;time'"),
        (b"status,time,request\n", "first line 'status,time,request'"),
    ],
)
def test_an_unknown_file_is_reported_and_the_others_are_read(content: bytes, reason: str, tmp_path: Path) -> None:
    """The error shows the file's first line, or why nothing could be read."""
    explanation = explained(tmp_path, {"unknown": content, "log": COMBINED})
    unknown, log = explanation.found
    assert unknown.kind is None
    assert unknown.error is not None
    assert unknown.error.startswith(("not recognised: ", "not read: "))
    assert reason in unknown.error
    assert log.error is None
    assert explanation.any_read
    assert not explained(tmp_path, {"unknown": content}).any_read


@pytest.mark.parametrize("also", ["", f"{COMBINED}\n" * 9], ids=["error log", "both logs in one file"])
def test_an_error_log_that_was_unpacked_in_part_does_not_show_what_was_not_logged(also: str, tmp_path: Path) -> None:
    lines = "".join(
        f"2026/11/26 10:00:00 [error] 7#7: *{number} upstream sent too big header\n" for number in range(900)
    )
    packed = gzip.compress((also + lines).encode())
    assert explained(tmp_path, {"error.log.gz": packed}).messages.not_logged()
    assert not explained(tmp_path, {"error.log.gz": packed[:-20]}).messages.not_logged()


def test_figures_are_from_the_last_reading_of_ss_and_the_diagnosis_uses_all(tmp_path: Path) -> None:
    explanation = explained(tmp_path, {"ss": "LISTEN 9 5 0.0.0.0:80 0.0.0.0:*\nnow\nLISTEN 1 5 0.0.0.0:80 0.0.0.0:*\n"})
    (found,) = explanation.found
    assert (figure(found, "readings"), figure(found, "waiting for accept on 0.0.0.0:80")) == (2, 1)
    reasons = [reason.text for each in explanation.diagnosis.found for reason in each.for_]
    assert reasons == ["9 connections wait to be accepted at 0.0.0.0:80: 1 of 1 queue full."]


def test_a_truncated_file_in_a_folder_is_read_and_an_unknown_one_is_reported_briefly(tmp_path: Path) -> None:
    text = "".join(f"{COMBINED.replace('612', str(number * 7919))}\n" for number in range(30_000))
    packed = gzip.compress(text.encode())
    (tmp_path / "log.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "notes").write_text("hello")
    log, notes = explain(sources([str(tmp_path)])).found
    assert log.evidence.access_logs[0].content.is_cut
    requests = figure(log, "requests")
    assert isinstance(requests, int | float)
    assert 5_000 < requests < 25_000
    assert any(warning.startswith("only a part could be unpacked") for warning in log.warnings)
    assert notes.error == "not recognised: first line 'hello'"


def test_counters_have_a_size_limit_and_logs_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "TEXT_LIMIT_BYTES", 1 << 20)
    counters, log = explained(tmp_path, {"netstat": proc_net(1) * 20_000, "log": f"{COMBINED}\n" * 20_000}).found
    assert counters.error == "more than 1 MiB of text; only captures and logs may be that long"
    assert figure(log, "requests") == 20_000


def test_an_unreadable_file_in_a_folder_is_reported_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreadable file that the user names is bad input."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(COMBINED)
    read = Path.open

    def refused(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "a.log":
            raise PermissionError(13, "Permission denied")
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refused)
    found = explain(sources([str(tmp_path)])).found
    assert [(file.name, file.error) for file in found] == [
        ("a.log", "The file cannot be read: Permission denied."),
        ("b.log", None),
    ]
    with pytest.raises(BadInputError, match="Permission denied"):
        explain(sources([str(tmp_path / "a.log")]))


def test_all_kinds_except_captures_are_read_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = {kind: text for kind, text in SAMPLES.items() if kind is not Kind.CAPTURE}
    for kind, text in {**texts, Kind.ACCESS_LOG: f"{COMBINED}\n" * 3}.items():
        (tmp_path / kind.name).write_text(text)
    explanation = explain(sources([str(tmp_path)]))
    text = render_text(explanation.found, explanation.diagnosis, width=80, color=False, everything=True)
    assert capsys.readouterr() == ("", "")
    assert "error:" not in text
    assert [kind for kind in Kind if kind is not Kind.CAPTURE and f": {kind}\n" not in text] == []
