"""Messages from the kernel, systemd and Kubernetes are found after time stamps, but not in clients' data."""

import pytest

from tests.support.tables import table
from tuneproof.explain.parse.system_lines import message_of
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, messages

SYSTEM_MESSAGES = {
    "segfault": "nginx[4242]: segfault at 0 ip 000055d0c0de sp 00007ffc0000 error 4 in nginx[55d0c0de000+1000]",
    "invalid_opcode": "traps: nginx[4242] trap invalid opcode ip:55d0c0de sp:7ffc0000 error:0",
    "oom_cgroup": "Memory cgroup out of memory: Killed process 4242 (nginx) total-vm:904kB, anon-rss:800kB",
    "oom_host": "Out of memory: Killed process 4242 (nginx) total-vm:904kB, anon-rss:800kB",
    "syn_flooding": "TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:80. Sending cookies.",
    "page_allocation": "swapper/1: page allocation failure: order:1, mode:0x20",
    "conntrack_full": "nf_conntrack: nf_conntrack: table full, dropping packet",
    "tcp_memory": "TCP: out of memory -- consider tuning tcp_mem",
    "orphaned_sockets": "TCP: too many orphaned sockets",
    "file_max": "VFS: file-max limit 100000 reached",
    "neighbour_table": "neighbour: arp_cache: neighbor table overflow!",
    "hung_task": "INFO: task nginx:4242 blocked for more than 120 seconds.",
    "nic_drops": "NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out",
}
STAMPED = {
    "dmesg": "[12345.678901] {}",
    "dmesg of a young machine": "[    5.678901] {}",
    "dmesg -T": "[Thu Nov 26 09:00:01 2026] {}",
    "dmesg -x": "kern  :warn  : [12345.678901] {}",
    "journalctl -k": "Nov 26 09:00:01 web-1 kernel: {}",
    "syslog": "Nov 26 09:00:01 web-1 kernel: [12345.678901] {}",
}


@pytest.mark.parametrize("row", SYSTEM_MESSAGES)
@pytest.mark.parametrize("program", STAMPED)
def test_a_message_is_found_after_its_time_stamp(row: str, program: str) -> None:
    found = message_of(STAMPED[program].format(SYSTEM_MESSAGES[row]))
    assert found is not None
    assert found.row == row


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
