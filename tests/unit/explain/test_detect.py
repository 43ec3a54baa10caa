"""The content of a file determines its kind; its name does not matter."""

import pytest

from tests.support.evidence_samples import SAMPLES
from tests.support.growth import assert_grows_with_its_size
from tuneproof.explain.detect import Kind, detect

PS = """\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
www-data    1201 99.0  0.2  14000 21000 ?        R    Nov01  90:11 nginx: worker
"""
SS_ROW = "ESTAB 0      0          10.0.0.1:80      10.0.0.2:43210"
ACCESS_LOG_LINE = (
    '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET /?a=1;b={2} HTTP/1.0" 200 612 "-" "{agent}" rt=0.001 uct="0.000"\n'
)


def kind_of(text: str) -> Kind | None:
    return detect(text.encode("latin-1"), text)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.ACCESS_LOG])
def test_each_kind_is_recognised_by_its_content(kind: Kind) -> None:
    assert kind_of(SAMPLES[kind]) == kind
    if kind is not Kind.CAPTURE:
        assert kind_of(SAMPLES[kind].replace("\n", "\r\n")) == kind
    if kind in {Kind.PROC_NET, Kind.NETSTAT_S, Kind.NSTAT, Kind.SOFTNET, Kind.SS}:
        assert kind_of(f"Fri Nov 20 18:59:05 UTC 2026\n{SAMPLES[kind]}") == kind


@pytest.mark.parametrize(
    "magic", ["d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a"], ids=["le", "be", "le-ns", "be-ns", "ng"]
)
def test_every_capture_format_is_recognised(magic: str) -> None:
    assert detect(bytes.fromhex(magic) + bytes(20), "") == Kind.CAPTURE


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SS_ROW, Kind.SS),
        (f"tcp   {SS_ROW}", Kind.SS),
        ("0      0          10.0.0.1:80      10.0.0.2:43210\n\t cubic wscale:7,7 rto:204 cwnd:10\n", Kind.SS),
        ("LISTEN 0 511 [::]:80 [::]:*", Kind.SS),
        ("Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n0 0 10.0.0.1:80 10.0.0.2:4321", Kind.SS),
        # An included file has no http block.
        ("server {\n  listen 80;\n}\n", Kind.NGINX_CONF),
        ("upstream app {\n}\n", Kind.NGINX_CONF),
        ("log_format x '$status';", Kind.NGINX_CONF),
        (PS, Kind.TOP),
        (f"{SAMPLES[Kind.DF]}{SAMPLES[Kind.ERROR_LOG]}", Kind.ERROR_LOG),
        # A question in a forum may contain both nginx's messages and a configuration.
        ("Why?\n2026/11/26 10:00:01 [error] 7#7: *1 x\nserver {\n  listen 80;\n}\n", Kind.ERROR_LOG),
    ],
)
def test_part_of_a_file_is_recognised_too(text: str, kind: Kind) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "agent", ["ApacheBench/2.3", "This is ApacheBench, Version", "Running 1s test @ x", "http { server {", "Tcp: A B"]
)
def test_an_access_log_is_not_mistaken_for_another_kind_because_of_its_user_agent(agent: str) -> None:
    """A client chooses the user agent, but not a line's start. Access logs are recognised later, by their formats."""
    assert kind_of(ACCESS_LOG_LINE.replace("{agent}", agent)) is None


@pytest.mark.parametrize(
    "text",
    ["", "\n", "hello\n", "{}\n", '{"a": 1}\n{"a": 2}\n', "1 2 3\n4 5 6 7\n", "Name: x\n", "PID\n", "0000 0000\n"],
)
def test_other_texts_have_no_kind(text: str) -> None:
    assert kind_of(text) is None


@pytest.mark.parametrize(
    "line", [" PID %usr", "\n ", "include \n", "Running test @", "Tcp: A", "1 ", "location ", '{"', "0 0 a:"]
)
def test_detection_takes_linear_time(line: str) -> None:
    assert_grows_with_its_size(lambda size: kind_of((line * size)[:size]), size=16_384)
