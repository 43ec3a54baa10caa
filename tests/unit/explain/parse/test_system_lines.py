"""Messages of the kernel, systemd and Kubernetes about nginx, after their time stamps; not in clients' data."""

import pytest

from tuneproof.explain.parse.system_lines import message_of
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, messages

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
def test_a_message_is_found_after_its_time_stamp(row: str, program: str) -> None:
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


SYSTEMD = "Nov 26 09:00:01 web systemd[1]: "
AVC = 'type=AVC msg=audit(1764147601.123:4): avc:  denied  {{ {} }} for  pid=9 comm="nginx" {} permissive={}'
OOM = "total-vm:812340kB, anon-rss:512340kB, file-rss:0kB, shmem-rss:0kB, UID:33"
OTHERS = [
    ("nginx: the configuration file /etc/nginx/nginx.conf syntax is ok", "configuration_syntax_ok"),
    ("nginx: configuration file /etc/nginx/nginx.conf test is successful", "configuration_ok"),
    ("angie: configuration file /etc/angie/angie.conf test failed", "configuration_test_failed"),
    (f"[12345.678901] Out of memory: Killed process 12 (php-fpm8.2) {OOM}", "oom_host_other"),
    (f"[12345.678901] Memory cgroup out of memory: Killed process 12 (java) {OOM}", "oom_cgroup_other"),
    (f"[12345.678901] Memory cgroup out of memory: Killed process 12 (openresty) {OOM}", "oom_cgroup"),
    (AVC.format("name_connect", "dest=3000 tclass=tcp_socket", 0), "selinux_connect"),
    (AVC.format("name_bind", "src=8181 tclass=tcp_socket", 0), "selinux_bind"),
    (AVC.format("read", 'name="index.html" tclass=file', 0), "selinux_denied"),
    (AVC.format("name_connect", "dest=3000 tclass=tcp_socket", 1), "selinux_permissive"),
    (
        (
            'Nov 26 09:00:01 web kernel: [12345.678901] audit: type=1400 audit(1764147601.123:45): apparmor="DENIED" '
            'operation="open" class="file" profile="nginx" name="/srv/a" pid=12 comm="nginx" requested_mask="r"'
        ),
        "apparmor_denied",
    ),
    (
        (
            "[12345.678901] audit: type=1326 audit(1764147601.1:4): auid=4294967295 uid=101 subj=docker-default pid=12 "
            'comm="nginx" exe="/usr/sbin/nginx" sig=31 arch=c000003e syscall=425 compat=0'
        ),
        "seccomp_killed",
    ),
    ("Failed to start nginx.service: Unit nginx.service not found.", "service_not_installed"),
    ("Failed to restart nginx.service: Unit nginx.service is masked.", "service_masked"),
    ("nginx.service is not active, cannot reload.", "service_not_running"),
    ("Failed to reload nginx.service: Access denied", "service_no_rights"),
    (f"{SYSTEMD}Failed to start nginx.service - A high performance web server.", "service_failed"),
    (f"{SYSTEMD}Failed to start The nginx HTTP and reverse proxy server.", "service_failed"),
    (f"{SYSTEMD}nginx.service: Main process exited, code=dumped, status=11/SEGV", "service_crashed"),
    ("Nov 26 09:00:01 web systemd-coredump[13]: Process 12 (nginx) of user 33 dumped core.", "service_crashed"),
    (f"{SYSTEMD}nginx.service: Failed at step EXEC spawning /a: No such file or directory", "service_program_missing"),
    (f"{SYSTEMD}nginx.service: Failed to set up mount namespacing: /a: No such file", "service_namespace"),
    (f"{SYSTEMD}nginx.service: systemd-oomd killed 3 process(es) in this unit.", "service_killed"),
    (f"{SYSTEMD}Started A high performance web server and a reverse proxy server.", "service_ordinary"),
    (
        "Error response from daemon: endpoint a: Bind for 0.0.0.0:80 failed: port is already allocated",
        "docker_port_taken",
    ),
    ("exec /docker-entrypoint.sh: exec format error", "docker_exec_format"),
    ("exec /docker-entrypoint.sh: no such file or directory", "docker_entrypoint_missing"),
    ("a: not a directory: Are you trying to mount a directory onto a file (or vice-versa)?", "docker_mount_type"),
    (
        "20-envsubst-on-templates.sh: ERROR: /etc/nginx/templates exists, but /etc/nginx/conf.d is not writable",
        "entrypoint_templates",
    ),
    ("/docker-entrypoint.sh: Configuration complete; ready for start up", "entrypoint_ordinary"),
    (
        'W1126 09:00:02.1 7 controller.go:1112] Error obtaining Endpoints for Service "a/b": no object matching key',
        "ingress_service_missing",
    ),
    (
        'W1126 09:00:02.1 7 controller.go:1334] Error getting SSL certificate "a/b": local SSL certificate a/b was not',
        "ingress_certificate",
    ),
    ('E1126 09:00:03.1 7 controller.go:205] "Unexpected failure reloading the backend" err=<', "ingress_reload_failed"),
    ('Error: admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: ', "ingress_denied"),
    (
        "  Warning  BackOff  4m (x42 over 14m)  kubelet  Back-off restarting failed container nginx",
        "container_restarts",
    ),
    (
        '  Warning  FailedMount  6s  kubelet  MountVolume.SetUp failed for volume "a" : configmap "a" not found',
        "volume_not_mounted",
    ),
    ("  Warning  Evicted  3m  kubelet  The node was low on resource: ephemeral-storage. Threshold", "pod_evicted"),
    ("[12345.678901] nfs: server 10.0.0.20 not responding, still trying", "nfs_silent"),
    ("[12345.678901] blk_update_request: I/O error, dev sda, sector 12 op 0x0:(READ)", "disk_error"),
    ("[12345.678901] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [nginx:12]", "soft_lockup"),
    (
        "[26-Nov-2026 09:00:01] WARNING: [pool www] server reached pm.max_children setting (5), consider raising it",
        "php_fpm_max_children",
    ),
    (
        (
            "[26-Nov-2026 09:00:01] WARNING: [pool www] child 12, script '/a.php' (request: \"GET /a.php\") execution "
            "timed out (30.1 sec), terminating"
        ),
        "php_fpm_terminated",
    ),
    (
        "[26-Nov-2026 09:00:01] WARNING: [pool www] child 12 exited on signal 11 (SIGSEGV - core dumped) after 3.2 s",
        "php_fpm_crashed",
    ),
    (
        (
            "[ E 2026-11-26 09:00:05.1234 812/T9 age/Cor/App/Implementation.cpp:221 ]: Could not spawn process for "
            "application /srv/app: The application process exited prematurely."
        ),
        "passenger_spawn",
    ),
    ("Thu Nov 26 09:00:01 2026 - *** HARAKIRI ON WORKER 1 (pid: 12, try: 1) ***", "uwsgi_harakiri"),
    ("2026-11-26 09:00:01,456 INFO exited: nginx (exit status 0; not expected)", "supervisor_daemon"),
    ("2026-11-26 09:00:01,456 INFO exited: nginx (exit status 1; not expected)", "supervisor_failed"),
    ('  Warning  Failed  12s  kubelet  Failed to pull image "nginx:1.99": rpc error: not found', "image_not_pulled"),
    (
        "  Warning  FailedScheduling  2m  default-scheduler  0/3 nodes are available: 3 node(s) didn't have free ports",
        "pod_unscheduled",
    ),
    ("/usr/sbin/nginx: error while loading shared libraries: libssl.so.1.1: cannot open", "library_missing"),
    ("[2026-11-26 09:00:01 +0000] [7] [CRITICAL] WORKER TIMEOUT (pid:9)", "gunicorn_timeout"),
    (
        "[2026-11-26 09:00:01 +0000] [7] [ERROR] Worker (pid:9) was sent SIGKILL! Perhaps out of memory?",
        "gunicorn_killed",
    ),
    (
        'Thu Nov 26 09:00:01 2026 - *** uWSGI listen queue of socket "127.0.0.1:8000" (fd: 3) full !!! (101/100) ***',
        "uwsgi_queue_full",
    ),
]


@pytest.mark.parametrize(("line", "row"), OTHERS, ids=[row for _, row in OTHERS])
def test_messages_of_other_programs_are_known(line: str, row: str) -> None:
    said = message_of(line)
    assert said is not None
    assert said.row == row


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


def test_a_kubernetes_event_says_how_often_it_happened() -> None:
    said = message_of("  Warning  Unhealthy  2m5s (x12 over 10m)  kubelet  Readiness probe failed: statuscode: 502")
    assert said is not None
    assert (said.row, said.times) == ("probe_failed", 12)


@pytest.mark.parametrize("row", [row for row in messages().values() if not row.levels], ids=lambda row: row.id)
def test_each_wording_without_a_level_is_found(row: Message) -> None:
    """Also by the few parts of words that decide whether a line is looked at."""
    for words in row.words:
        text = PLACE.sub(lambda place: "a" if place[1] == "driver" else "7", words.text)
        said = message_of(f"{text}." if text.endswith(" ") else text)
        assert said is not None, words.text
        assert said.row == row.id
