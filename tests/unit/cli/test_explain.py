"""``./lab explain`` from the outside: its output, its exit status, and the packages that it does not need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Lab
from tests.support.places import CHECKOUT
from tuneproof.cli.main import main
from tuneproof.cli.output import CALLED_FROM

COMBINED = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"\n'
BEFORE = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 5 5\n"
AFTER = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 905 905\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with counters before and after, a log, and another file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "before").write_text(BEFORE)
    (tmp_path / "after").write_text(AFTER)
    (tmp_path / "log").write_text(COMBINED)
    (tmp_path / "other").write_text("hello\n")
    return tmp_path


def test_the_diagnosis_comes_first_and_files_are_reported_in_the_order_given(lab: Lab) -> None:
    status, out, err = lab("explain", "log", "before", "after")
    assert (status, err) == (0, "")
    first, *_, last = out.splitlines()
    assert first == "FOUND: The accept queue overflows"
    assert last == "[1] log  [2] before  [3] after  [4] before -> after  More: --details"


def test_json_has_the_same_content_and_matches_its_schema(lab: Lab) -> None:
    """Printing checks the document against tuneproof/explain/schema.json."""
    status, out, _ = lab("explain", "--json", "before", "after", "other")
    document = json.loads(out)
    assert status == 0
    assert document["schema"] == 4
    assert [(file["name"], file["kind"], file["error"] is None) for file in document["files"]] == [
        ("before", "counters (/proc/net)", True),
        ("after", "counters (/proc/net)", True),
        ("other", None, False),
        ("before -> after", "counters (/proc/net)", True),
    ]
    assert {
        "key": "TcpExt.ListenOverflows",
        "name": "dropped because the accept queue was full (TcpExt.ListenOverflows)",
        "value": 900,
        "unit": "",
        "of": "",
    } in document["files"][3]["figures"]
    assert document["diagnosis"]["found"] == ["accept-queue overflow"]
    assert document["diagnosis"]["healthy"] is False


@pytest.mark.parametrize(("names", "status"), [(["other"], 2), (["other", "log"], 0)])
def test_the_status_is_2_when_nothing_was_read(names: list[str], status: int, lab: Lab) -> None:
    """An unknown file next to a known one is not a failure, but it is reported."""
    found, out, _ = lab("explain", *names)
    assert (found, "Skipped  other: not recognised: first line 'hello'" in out) == (status, True)
    assert out.startswith("Nothing to diagnose: no file was read.\nSkipped") == (status == 2)


def test_the_reason_for_json_lines_with_an_unknown_time_mentions_formats_too(folder: Path, lab: Lab) -> None:
    (folder / "a.log").write_text('{"time":"x","status":502,"request_time":0.1,"uri":"/"}\n' * 2, encoding="utf-8")
    out = " ".join(lab("explain", "a.log").out.split())
    assert "not with nginx's names and formats (status, request_time, time_iso8601 ...)" in out.replace(" [1]", "")


def test_for_a_configuration_alone_audit_is_suggested(folder: Path, lab: Lab) -> None:
    (folder / "site.conf").write_text("events {}\nhttp { server { listen 80; } }\n")
    hint = "These are configurations. To check one: ./lab audit FILE"
    assert hint in lab("explain", "site.conf").out
    assert hint not in lab("explain", "site.conf", "log").out


def test_a_file_named_twice_is_read_once(folder: Path, lab: Lab) -> None:
    (folder / "a.log").write_text("1970/01/01 00:00:00 [error] 1#1: *1 no live upstreams\n", encoding="utf-8")
    out = lab("explain", "a.log", "a.log").out
    assert "[1] a.log  More: --details" in out
    assert "count once" not in out


def test_a_wrong_configuration_is_reported_under_its_own_name(folder: Path, lab: Lab) -> None:
    (folder / "a.log").write_text("a\n", encoding="utf-8")
    (folder / "my.conf").write_text("hello world\n", encoding="utf-8")
    err = lab("explain", "a.log", "--nginx-conf", "my.conf").err
    assert "my.conf" in err
    assert "nginx.conf: " not in err


@pytest.mark.parametrize(("started_as", "command"), [("lab", "./lab watch"), ("/usr/bin/tuneproof", "tuneproof watch")])
def test_the_watch_command_is_written_as_the_user_types_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, started_as: str, command: str
) -> None:
    """A checkout has no tuneproof command."""
    monkeypatch.setattr(sys, "argv", [started_as])
    capture = CHECKOUT / "tests" / "captures" / "slow-reader.pcap.gz"
    assert f"as root on nginx's host, while it happens: {command}\n" in lab("explain", capture).out


def test_a_missing_file_is_bad_input_and_nothing_is_explained(lab: Lab) -> None:
    status, out, err = lab("explain", "log", "no such file")
    assert (status, out) == (2, "")
    assert "No such file or directory" in err
    assert "where: no such file" in err


def test_an_empty_name_is_not_the_current_folder(lab: Lab) -> None:
    ended = lab("explain", "")
    assert (ended.status, ended.out, "A file's name is empty." in ended.err) == (2, "", True)


def test_standard_input_is_read_and_neither_docker_nor_pytest_is_needed() -> None:
    """A separate process lists the imported modules at the end."""
    script = (
        "import sys\n"
        "from tuneproof.cli.main import main\n"
        "status = main(['explain', '--log-format', '$remote_addr $status', '-'])\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'docker', 'testcontainers', 'pytest', '_pytest', 'requests', 'scapy'}))\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, input=BEFORE + AFTER, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "FOUND: The accept queue overflows"
    assert "[1] standard input  More: --details" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_pipe_is_read_once_and_whole() -> None:
    """A <(command) in bash is a pipe, which cannot be rewound or opened again."""
    command = f"{sys.executable} -m tuneproof.cli explain <(printf '{BEFORE}') <(printf '{AFTER}') --json"
    done = subprocess.run(["bash", "-c", command], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert json.loads(done.stdout)["diagnosis"]["found"] == ["accept-queue overflow"]


def test_relative_names_refer_to_the_callers_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./lab changes to its checkout before it starts Python, and the user's files are not there."""
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv(CALLED_FROM, str(folder))
    assert main(["explain", "log"]) == 0
