"""Messages from the kernel, systemd and Kubernetes are found after time stamps, but not in clients' data."""

import pytest

from tests.support.tables import table
from tuneproof.explain.parse.system_lines import message_of
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, messages

STAMPS = {
    "dmesg": "[12345.678901] ",
    "dmesg of a young machine": "[    5.678901] ",
    "dmesg -T": "[Thu Nov 26 09:00:01 2026] ",
    "dmesg -x": "kern  :warn  : [12345.678901] ",
    "journalctl -k": "Nov 26 09:00:01 web-1 kernel: ",
    "syslog": "Nov 26 09:00:01 web-1 kernel: [12345.678901] ",
}


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
def test_a_message_is_found_after_its_time_stamp(stamp: str) -> None:
    found = message_of(f"{stamp}nf_conntrack: nf_conntrack: table full, dropping packet")
    assert found is not None
    assert found.row == "conntrack_full"


@pytest.mark.parametrize(("line", "row"), table("system_lines"))
def test_a_line_from_another_program_has_its_row(line: str, row: str) -> None:
    found = message_of(line)
    assert found is not None
    assert found.row == row


@pytest.mark.parametrize(
    "line",
    [
        "Nov 26 09:00:01 web systemd[1]: Failed to start nginx-exporter.service - Prometheus exporter for nginx.",
        "Nov 26 09:00:01 web systemd[1]: nginx-exporter.service: Main process exited, code=exited, status=1/FAILURE",
        'type=AVC msg=audit(1764147601.123:4): avc:  denied  { read } for  pid=9 comm="httpd" permissive=0',
        "listen tcp :9113: bind: address already in use",
        "        RX errors 0  dropped 0  overruns 0  frame 0",
        '10.0.0.2 - - [26/Nov/2026:09:00:01 +0000] "GET /?TCP: out of memory HTTP/1.1" 200 1 "-" "segfault at 0 ip 1"',
        "PHP Fatal error:  Out of memory (allocated 2097152) (tried to allocate 20480 bytes)",
        "[12345.678901] eth0: renamed from veth1",
        "[    2.223456] IPv6: ADDRCONF(NETDEV_UP): eth0: link is not ready",
        "",
    ],
)
def test_other_lines_are_ignored(line: str) -> None:
    assert message_of(line) is None


def test_the_count_in_a_kubernetes_event_is_read() -> None:
    found = message_of("  Warning  Unhealthy  2m5s (x12 over 10m)  kubelet  Readiness probe failed: statuscode: 502")
    assert found is not None
    assert (found.row, found.times) == ("probe_failed", 12)


@pytest.mark.parametrize("row", [row for row in messages().values() if not row.levels], ids=lambda row: row.id)
def test_each_wording_of_a_row_without_levels_is_found(row: Message) -> None:
    """The quick check for fragments of words, which comes first, does not exclude any wording."""
    for words in row.words:
        text = PLACE.sub(lambda place: "a" if place[1] == "driver" else "7", words.text)
        found = message_of(f"{text}." if text.endswith(" ") else text)
        assert found is not None, words.text
        assert found.row == row.id
