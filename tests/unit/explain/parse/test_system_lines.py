"""The kernel, systemd and Kubernetes about nginx: found behind their stamps, and not in what clients send."""

import pytest

from tuneproof.explain.parse.system_lines import message_of

SAID = {
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


@pytest.mark.parametrize("row", SAID)
@pytest.mark.parametrize("program", STAMPED)
def test_a_message_is_found_behind_its_stamp(row: str, program: str) -> None:
    said = message_of(STAMPED[program].format(SAID[row]))
    assert said is not None
    assert said.row == row


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("      Reason:       OOMKilled", "oomkilled"),
        ("  Warning  Unhealthy  2m (x5 over 10m)  kubelet  Readiness probe failed: statuscode: 502", "probe_failed"),
        (
            "Nov 26 09:00:01 a systemd[1]: nginx.service: Main process exited, code=killed, status=9/KILL",
            "service_killed",
        ),
        ("Nov 26 09:00:01 web systemd[1]: Failed to start A high performance web server (nginx).", "service_failed"),
        (
            "Nov 26 09:00:01 web systemd[1]: Failed to start A high performance web server and a reverse proxy server.",
            "service_failed",
        ),
        (
            "Nov 26 09:00:01 web systemd[1]: nginx.service: Start operation timed out. Terminating.",
            "service_start_timeout",
        ),
        (
            'W1126 09:00:02.000000       7 controller.go:1108] Service "default/a" does not have any active Endpoint.',
            "service_without_endpoints",
        ),
        ("2m5s        Warning   Unhealthy   pod/web-5c9d   Liveness probe failed: statuscode: 502", "probe_failed"),
        (
            "[12345.678901] nginx invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984",
            "oom_invoked",
        ),
        (
            "[12345.678901] php-fpm8.2[12]: segfault at 7f ip 0055 sp 007f error 4 in php-fpm8.2[55d+2f]",
            "segfault_other",
        ),
        ("Nov 26 09:00:01 web systemd[1]: nginx.service: Start request repeated too quickly.", "service_too_often"),
        ("        RX errors 0  dropped 0  overruns 9  frame 0", "nic_drops"),
    ],
)
def test_systemd_kubernetes_and_ifconfig_are_known(line: str, row: str) -> None:
    said = message_of(line)
    assert said is not None
    assert said.row == row


@pytest.mark.parametrize(
    "line",
    [
        "        RX errors 0  dropped 0  overruns 0  frame 0",
        '10.0.0.2 - - [26/Nov/2026:09:00:01 +0000] "GET /?TCP: out of memory HTTP/1.1" 200 1 "-" "segfault at 0 ip 1"',
        "PHP Fatal error:  Out of memory (allocated 2097152) (tried to allocate 20480 bytes)",
        "[12345.678901] eth0: renamed from veth1",
        "[    2.223456] IPv6: ADDRCONF(NETDEV_UP): eth0: link is not ready",
        "",
    ],
)
def test_other_lines_say_nothing(line: str) -> None:
    assert message_of(line) is None


def test_an_event_of_kubernetes_says_how_often_it_happened() -> None:
    said = message_of("  Warning  Unhealthy  2m5s (x12 over 10m)  kubelet  Readiness probe failed: statuscode: 502")
    assert said is not None
    assert (said.row, said.times) == ("probe_failed", 12)
