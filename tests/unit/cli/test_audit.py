"""``audit`` as a gate: its exit status, formats for programs, baseline, and single patch."""

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from tests.support.command_line import Lab

MAIN: Final = "events { } http { client_header_buffer_size 3m;\n\n  include conf.d/*.conf;\n}\n"
SITE: Final = (
    "upstream app { server 10.0.0.1; keepalive 8; }\n"
    "server {\n  listen 80 reuseport;\n  location / { proxy_pass http://app; }\n}\n"
)
# The requirements of SARIF 2.1.0 for the parts that audit writes; nothing else is allowed (sections 3.13, 3.14,
# 3.19, 3.27, 3.28, 3.29, 3.30, 3.49).
_TEXT: Final = {"type": "object", "required": ["text"], "additionalProperties": False, "properties": {"text": {
    "type": "string", "minLength": 1}}}  # fmt: skip
_RULE: Final = {"type": "object", "required": ["id"], "additionalProperties": False, "properties": {
    "id": {"type": "string"}, "shortDescription": _TEXT, "help": _TEXT}}  # fmt: skip
_PLACE: Final = {"type": "object", "required": ["physicalLocation"], "additionalProperties": False, "properties": {
    "physicalLocation": {"type": "object", "additionalProperties": False, "required": ["artifactLocation", "region"],
        "properties": {
            "artifactLocation": {"type": "object", "additionalProperties": False, "required": ["uri"],
                "properties": {"uri": {"type": "string", "format": "uri-reference", "pattern": "^[^ ]+$"}}},
            "region": {"type": "object", "additionalProperties": False, "required": ["startLine"],
                "properties": {"startLine": {"type": "integer", "minimum": 1}}}}}}}  # fmt: skip
_RESULT: Final = {"type": "object", "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
    "additionalProperties": False, "properties": {
        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "message": _TEXT,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
        "locations": {"type": "array", "minItems": 1, "items": _PLACE},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}}}}  # fmt: skip
SARIF: Final = Draft202012Validator({
    "type": "object", "required": ["version", "runs"], "additionalProperties": False, "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["tool", "results"], "additionalProperties": False, "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "results": {"type": "array", "items": _RESULT},
                "tool": {"type": "object", "required": ["driver"], "additionalProperties": False, "properties": {
                    "driver": {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {
                        "name": {"type": "string"}, "version": {"type": "string"},
                        "rules": {"type": "array", "items": _RULE, "uniqueItems": True}}}}}}}}}})  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout with a configuration in one of its folders; the checkout is the working directory."""
    (tmp_path / "my deploy/conf.d").mkdir(parents=True)
    (tmp_path / "my deploy/nginx.conf").write_text(MAIN, encoding="utf-8")
    (tmp_path / "my deploy/conf.d/site.conf").write_text(SITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audited(lab: Lab, *options: str) -> tuple[int, str]:
    return lab("audit", "my deploy", "--nginx", "1.22", *options)[:2]


@pytest.mark.parametrize(
    ("states", "status"),
    [("harmful", 1), ("expired", 0), ("expired,harmful", 1), ("without-effect", 1), ("missing", 1)],
)
def test_the_exit_status_reports_a_forbidden_state(lab: Lab, states: str, status: int) -> None:
    assert audited(lab, "--fail-on", states)[0] == status


def test_a_reason_names_files_relative_to_the_configurations_folder(lab: Lab, folder: Path) -> None:
    text = "server { listen 81; add_header A b; location / { add_header C d; } }"
    (folder / "my deploy/conf.d/other.conf").write_text(text, encoding="utf-8")
    for form in ("text", "sarif", "github"):
        out = " ".join(lab("audit", folder / "my deploy", "--format", form).out.split())
        assert "does not inherit A (conf.d/other.conf:1)" in out


def test_text_names_files_relative_to_the_folder_and_sarif_relative_to_the_checkout(lab: Lab, folder: Path) -> None:
    """Without --fail-on, the command succeeds, even if an included file is missing."""
    status, out = audited(lab)
    assert status == 0
    assert "\nnginx.conf:1: harmful, request_limits\n" in out
    assert "\n--- a/conf.d/site.conf\n" in out
    assert "my deploy" not in out
    assert '"uri": "my%20deploy/nginx.conf"' in lab("audit", folder / "my deploy", "--format", "sarif").out
    (folder / "my deploy/nginx.conf").write_text(MAIN.replace("conf.d/*", "gone"), encoding="utf-8")
    assert audited(lab)[0] == 0


def test_an_unknown_state_is_bad_input(lab: Lab) -> None:
    """States that need no action cannot be forbidden, either; text output shows two states under other names."""
    for state in ("harmfull", "in-effect", "consider", "depends", ""):
        ended = lab("audit", "my deploy", "--fail-on", f"harmful,{state}")
        assert (ended.status, "some of harmful,without-effect" in ended.err) == (2, True)
        assert f"--fail-on {state}: not a state that can fail" in ended.err
        assert "missing (shown as consider)" in ended.err


def test_known_findings_in_a_baseline_are_recognised_even_if_they_move(lab: Lab, folder: Path) -> None:
    """Each known finding counts once: the same line a second time is new, and so is another line."""
    assert audited(lab, "--write-baseline", "known.json", "--fail-on", "harmful")[0] == 1
    known = ("--baseline", "known.json", "--fail-on", "harmful")
    config = folder / "my deploy/nginx.conf"
    config.write_text(f"\n\n{MAIN}", encoding="utf-8")
    status, out = audited(lab, *known)
    assert status == 0
    assert "client_header_buffer_size" not in out
    assert "4 more findings in known.json." in out
    config.write_text(MAIN.replace("http {", "http {\n  send_timeout 2;"), encoding="utf-8")
    status, out = audited(lab, *known, "--format", "github")
    assert status == 1
    assert [line.split("::")[2].split(":")[1].split()[0] for line in out.splitlines()] == ["send_timeout"]
    audited(lab, "--write-baseline", "known.json", "--fail-on", "harmful")
    assert audited(lab, *known)[0] == 0
    twice = "http {\n  send_timeout 2;\n  server { listen 81; send_timeout 2; }"
    config.write_text(MAIN.replace("http {", twice), encoding="utf-8")
    assert audited(lab, *known)[0] == 1


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 2, "findings": []}', '{"schema": 1, "findings": [1]}'])
def test_an_invalid_or_missing_baseline_is_bad_input(lab: Lab, folder: Path, text: str) -> None:
    (folder / "known.json").write_text(text, encoding="utf-8")
    # An existing file may be the wrong one: it must not be overwritten.
    for name, written in (("known.json", "FILE"), ("none.json", "none.json")):
        ended = lab("audit", "my deploy", "--baseline", name)
        assert (ended.status, f"--write-baseline {written}\n" in ended.err) == (2, True)


@pytest.mark.parametrize(
    "command", ["audit --patch", "audit --write-baseline", "upgrade --from 1.18 --to 1.30 --patch"]
)
@pytest.mark.parametrize("name", ["my deploy/conf.d/site.conf", "link"])
def test_a_file_of_the_configuration_is_not_overwritten(lab: Lab, folder: Path, command: str, name: str) -> None:
    (folder / "link").symlink_to("my deploy/conf.d/site.conf")
    ended = lab(*command.split(), name, "my deploy")
    assert (ended.status, f"{name} is a file of the configuration" in ended.err) == (2, True)
    assert (folder / "my deploy/conf.d/site.conf").read_text(encoding="utf-8") == SITE


def test_annotations_are_workflow_commands_for_paths_in_the_checkout(lab: Lab, folder: Path) -> None:
    """The output contains nothing else; special characters in a file's name are escaped."""
    (folder / "my deploy/conf.d/a,b:c%.conf").write_text(
        "server { sendfile on; tcp_nopush on; send_timeout 1%; send_timeout 1; }", encoding="utf-8"
    )
    lines = audited(lab, "--format", "github")[1].splitlines()
    shape = re.compile(r"::(error|warning|notice) file=([^,]+),line=(\d+),title=([^,:]+)::(.+)")
    found = [match.groups() for line in lines if (match := shape.fullmatch(line))]
    assert len(found) == len(lines)
    assert ("error", "my deploy/nginx.conf", "1") in [one[:3] for one in found]
    assert ("error", "my deploy/conf.d/a%2Cb%3Ac%25.conf", "1") in [one[:3] for one in found]


def sarif(lab: Lab, *options: str) -> Any:
    """Validate the SARIF log, and return its run."""
    log = json.loads(audited(lab, "--format", "sarif", *options)[1])
    SARIF.validate(log)
    return log["runs"][0]


def test_sarif_contains_what_code_scanning_shows(lab: Lab) -> None:
    run = sarif(lab)
    rules = run["tool"]["driver"]["rules"]
    found = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        found.append((result["level"], place["artifactLocation"]["uri"], place["region"]["startLine"]))
    assert found == [
        ("error", "my%20deploy/nginx.conf", 1),
        ("warning", "my%20deploy/conf.d/site.conf", 4),
        ("warning", "my%20deploy/conf.d/site.conf", 3),
        ("note", "my%20deploy/conf.d/site.conf", 3),
    ]
    assert len({str(result["partialFingerprints"]) for result in run["results"]}) == len(found)


def test_sarif_links_the_source_of_a_documented_rule(lab: Lab, folder: Path) -> None:
    (folder / "my deploy/conf.d/other.conf").write_text("server { listen 81; error_log off; }", encoding="utf-8")
    rules = {one["id"]: one for one in sarif(lab)["tool"]["driver"]["rules"]}
    rule = rules["configuration/error_log_off_is_a_file"]
    assert rule["shortDescription"]["text"] == "error log off is a file"
    assert rule["help"]["text"].startswith("Documented: https://nginx.org/en/docs/")


def test_sarif_marks_findings_that_the_baseline_lacks_as_new(lab: Lab, folder: Path) -> None:
    """Errors that would make nginx refuse the files are marked, too."""
    audited(lab, "--write-baseline", "known.json")
    known = {result["ruleId"] for result in sarif(lab)["results"]}
    (folder / "my deploy/conf.d/other.conf").write_text(
        "server { listen 81; send_timeout 1; sendfile on; sendfile on; }", encoding="utf-8"
    )
    states = {result["ruleId"]: result["baselineState"] for result in sarif(lab, "--baseline", "known.json")["results"]}
    assert states == {
        **dict.fromkeys(known, "unchanged"),
        "request_limits/send_timeout_2_ends_steady_downloads": "new",
        "nginx-refuses-it": "new",
    }


def test_a_finding_for_which_versions_have_different_reasons_counts_once(lab: Lab, folder: Path) -> None:
    """Since 1.29.7, nginx keeps upstream connections by default, so only the map closes them."""
    closes = "map $http_upgrade $a { default upgrade; '' close; } upstream u { server 10.0.0.1:1; }"
    passes = "proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection $a;"
    text = f"events {{ }}\nhttp {{ {closes} server {{ listen 80; location / {{ {passes} }} }} }}\n"
    (folder / "my deploy/nginx.conf").write_text(text, encoding="utf-8")
    assert lab("audit", "my deploy").out.count("without effect, upstream_keepalive") == 2
    lines = lab("audit", "my deploy", "--format", "github").out.splitlines()
    assert len([line for line in lines if "title=upstream_keepalive/" in line]) == 1
    lab("audit", "my deploy", "--write-baseline", "known.json")
    assert "upstream_keepalive" not in lab("audit", "my deploy", "--baseline", "known.json").out


def test_formats_for_programs_contain_the_errors_of_older_versions(lab: Lab, folder: Path) -> None:
    """Before 1.25.5, stream{} can have only one server for each address."""
    server = "server { listen 53; proxy_pass 127.0.0.1:1; }"
    (folder / "my deploy/nginx.conf").write_text(f"events {{ }}\nstream {{ {server} {server} }}\n", encoding="utf-8")
    message = 'duplicate "0.0.0.0:53" address and port pair (on nginx 1.18 and 1.22)'
    content = json.loads(lab("audit", "my deploy", "--json").out)
    assert content["problems"] == []
    assert [(one["line"], one["message"]) for one in content["older_problems"]] == [(2, message)]
    log = json.loads(lab("audit", "my deploy", "--format", "sarif").out)
    SARIF.validate(log)
    [result] = [one for one in log["runs"][0]["results"] if one["ruleId"] == "older-nginx-refuses-it"]
    assert (result["level"], result["message"]["text"]) == ("warning", message)
    assert f"title=older-nginx-refuses-it::{message}" in lab("audit", "my deploy", "--format", "github").out


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("is_repository", [True, False])
def test_the_single_patch_is_applied_by_git_and_leaves_nothing_to_patch(
    lab: Lab, folder: Path, *, is_repository: bool
) -> None:
    """The printed command applies the patch, even if several changes affect one line."""
    if is_repository:
        subprocess.run(["git", "init", "-q"], check=True)
    ended = lab("audit", "my deploy", "--nginx", "1.22", "--patch", "all.patch")
    assert "+++" not in ended.out
    command = ended.err.removeprefix("lab: to apply it: ").strip()
    subprocess.run(["sh", "-c", command], check=True)
    assert "listen 80 backlog=4096;" in (folder / "my deploy/conf.d/site.conf").read_text(encoding="utf-8")
    assert "nothing to patch" in lab("audit", "my deploy", "--nginx", "1.22", "--patch", "more.patch").err
    assert not (folder / "more.patch").exists()


def test_files_that_nginx_would_refuse_get_status_2_and_no_patch(lab: Lab, folder: Path) -> None:
    (folder / "my deploy/nginx.conf").write_text(f"{MAIN}}}\n", encoding="utf-8")
    status, out = audited(lab, "--fail-on", "harmful", "--patch", "all.patch")
    assert status == 2
    assert 'nginx.conf:5: unexpected "}"' in out
    assert "+++" not in out
    assert not (folder / "all.patch").exists()
    assert audited(lab, "--json")[0] == 2
    assert '"patch": "' not in audited(lab, "--json")[1]


@pytest.mark.parametrize(
    "raw", [b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8, b"\x1f\x8b\x08" + bytes(range(255, 0, -1)) * 4]
)
def test_a_binary_file_is_reported_as_binary(lab: Lab, folder: Path, raw: bytes) -> None:
    (folder / "a").write_bytes(raw)
    ended = lab("audit", "a")
    assert (ended.status, "a is a binary file, not a configuration" in ended.err) == (2, True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_patch_for_a_file_in_a_parent_folder_is_applied_by_the_printed_command(
    lab: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command runs in the user's folder, although git refuses names that begin with two dots."""
    (folder / "below").mkdir()
    (folder / "site.conf").write_text("server { listen 80; }\n", encoding="utf-8")
    monkeypatch.chdir(folder / "below")
    printed = lab("audit", "../site.conf", "--nginx", "1.30", "--patch", "all.patch")
    (command,) = (line.partition("to apply it: ")[2] for line in printed.err.splitlines() if "to apply it" in line)
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "backlog=4096" in (folder / "site.conf").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_patch_for_an_upgrade_is_applied_by_the_printed_command(lab: Lab, folder: Path) -> None:
    ended = lab("upgrade", "--from", "1.18", "--to", "1.30", "--patch", "all.patch", "my deploy")
    subprocess.run(shlex.split(ended.err.removeprefix("lab: to apply it: ")), check=True)
    assert (folder / "my deploy/conf.d/site.conf").read_text(encoding="utf-8") != SITE


def test_a_patch_for_standard_input_is_applied_by_the_printed_command(
    lab: Lab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The patch cannot name the file that standard input came from."""
    text = "upstream a {\n    server 10.0.0.5:3000;\n    keepalive 32;\n}\n"
    (folder / "site.conf").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ended = lab("audit", "-", "--nginx", "1.22", "--patch", "a.patch")
    command = ended.err.partition("to apply it: ")[2].replace("FILE", "site.conf")
    subprocess.run(["sh", "-c", command], check=True)
    assert "keepalive_timeout 4s;" in (folder / "site.conf").read_text(encoding="utf-8")


def test_a_template_takes_values_from_the_command_line_and_from_a_file(lab: Lab, folder: Path) -> None:
    (folder / "t.conf").write_text("server { listen ${PORT}; server_name ${NAME}; }\n", encoding="utf-8")
    (folder / "env").write_text('# of the stack\nexport NAME="a.example"\nPORT=1\n', encoding="utf-8")
    found = json.loads(lab("audit", "t.conf", "--env", "env", "--set", "PORT=8443", "--json").out)
    assert found["servers"] == [{"listens": ["8443"], "names": ["a.example"]}]
    wrong = lab("audit", "t.conf", "--set", "PORT")
    assert (wrong.status, "--set PORT=VALUE" in wrong.err) == (2, True)
    (folder / "env").write_text("NAME=a\nPORT\n", encoding="utf-8")
    assert "  where: env:2\n  fix: write PORT=VALUE in the file\n" in lab("audit", "t.conf", "--env", "env").err
    gone = lab("audit", "t.conf", "--env", "gone")
    assert (gone.status, gone.err.splitlines()) == (
        2,
        ["lab: --env gone cannot be read: No such file or directory", "  fix: name a file of NAME=VALUE lines"],
    )
