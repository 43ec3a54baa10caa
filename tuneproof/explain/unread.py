"""Recognises files that explain does not read, and names the files to give instead."""

import json
import re
from typing import Final

# Offset, bytes and description. Gzip files were unpacked before, so one found here was compressed twice.
_PACKED: Final = (
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (0, b"\x04\x22\x4d\x18", "compressed with lz4"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"\x1f\x8b", "compressed twice"),
    (257, b"ustar", "a tar archive"),
)
_STAMP: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z"
# Proxies in front of nginx, by the log fields that their providers document.
_IN_FRONT: Final = (
    ("an AWS Application Load Balancer", rf"^(?:https?|h2|grpcs|wss?) {_STAMP} app/\S{{1,200}} \S{{1,60}}:\d+ "),
    ("an AWS Network Load Balancer", r"^tls \d\.\d \d{4}-\d\d-\d\dT[\d:]{8} net/"),
    ("an AWS Classic Load Balancer", rf"^{_STAMP} \S{{1,200}} \S{{1,60}}:\d+ \S{{1,60}} (?:-?[\d.]{{1,20}} ){{3}}"),
    ("Amazon CloudFront", r"^#Fields: date\s+time\s+x-edge-location"),
    (
        "a Google Cloud load balancer",
        r'"type\.googleapis\.com/google\.cloud\.loadbalancing\.type\.LoadBalancerLogEntry"',
    ),
    ("an Azure Application Gateway", r'"category": ?"ApplicationGatewayAccessLog"'),
    ("Cloudflare", r'^\{.*"EdgeResponseStatus"'),
)
_CLOCK: Final = r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"
_DAY: Final = r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4}\]"
# Other servers that users of nginx also run; some use the names of nginx's variables.
_OTHER_SERVERS: Final = (
    ("Apache httpd", rf"^{_DAY} \[(?:\w+:)?(?:emerg|alert|crit|error|warn|notice|info|debug|trace\d)\] "),
    ("IIS, or another server with W3C's format", r"^#(?:Software: Microsoft|Fields: )"),
    ("HAProxy", r"^.{0,80}\bhaproxy(?:\[\d+\])?: |^\[(?:ALERT|WARNING|NOTICE)\] +[\d/]+ \(\d+\) : "),
    ("HAProxy", rf"^\S{{1,60}}:\d+ {_CLOCK}\.\d{{3}}\] \S{{1,200}} \S{{1,200}} [-+\d/]+ "),
    ("Envoy", rf'^\[{_STAMP}\] "[A-Z-]{{1,20}} |^\{{.*"response_flags"'),
    ("Envoy", r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\]\[\d+\]\[\w+\]\[\w+\] "),
    ("Caddy", r'^.*\bhttp\.log\.access|^\{"level":"\w+","ts":[\d.]+,"logger":"(?:http|tls|admin)'),
    ("Traefik", r'^\{.*"DownstreamStatus"|" \d+ "[^"\n]*@[a-z]+" "[^"\n]*" \d+ms$'),
    ("Traefik", r'^time="\S{19,35}" level=\w+ msg=.*(?:entryPoint|router|provider|middleware)Name='),
    ("Squid", r"^\d{10}\.\d{3} +\d+ \S{1,60} [A-Z_]+/\d{3} "),
    ("Amazon S3", rf"^[0-9a-f]{{64}} \S{{1,80}} {_CLOCK} "),
)
_SOCKETS: Final = "ss -tanmi prints the sockets with their queues and limits"
_PACKETS: Final = "a capture by tcpdump -w shows what happens to nginx's own packets"
_MACHINE: Final = (
    "figures for the whole machine (vmstat, sar ...): pidstat 1, or /proc/PID/schedstat twice, shows nginx's own"
)
_OTHERS: Final = (
    (
        r"^Active connections: \d+",
        "nginx's stub_status: if accepts exceeds handled, nginx dropped connections; its error log has the reason",
    ),
    (r"\A#kernel\s*\Z", "nstat without a counter: none has changed since it last ran; nstat -az prints all of them"),
    (r"^Total: \d+.*\n\s*TCP:\s+\d+ \(estab", f"the summary of ss -s: {_SOCKETS}"),
    (r"^Active (?:Internet|UNIX)|^Proto\s+Recv-Q", f"netstat without TCP sockets: {_SOCKETS}"),
    (r"^\s*sl\s+local_address", f"/proc/net/tcp: {_SOCKETS}"),
    (r"^sockets: used \d+", f"/proc/net/sockstat: {_SOCKETS}"),
    (r"^tcp:\n\t\d+ packets? sent", "counters from a BSD or macOS: only Linux's are read"),
    (
        r"^(?:fs|kernel|net|vm)\.[\w./-]+ ?= ?\S",
        "kernel settings, which do not show incidents: docs/kernel-settings.md explains some",
    ),
    (
        r"^% time +seconds +usecs/call|^(?:\[pid +\d+\] |\d+ +)?(?:[\d:.]{1,20} )?[a-z]\w{1,30}\(.*\) += -?\d",
        "the output of strace: ./lab watch shows what a worker waits for, and explain reads its recordings",
    ),
    (
        r"^# (?:To display the perf\.data|Samples: |Overhead )|\APERFILE2",
        "a perf profile: ./lab watch shows what a worker waits for, and explain reads its recordings",
    ),
    (
        r"^(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{1,9} (?:\S{1,20} +(?:In|Out|[BMP]) +)?IP6? ",
        "the text output of tcpdump: tcpdump -w FILE writes a capture, which explain reads",
    ),
    (
        r'\A\s*\{\s*"log"\s*:\s*\{\s*"(?:version|creator)"',
        "a HAR file from a browser: nginx's access log of the same period shows where the time went",
    ),
    (
        r"^\S+[ \t]+(?:[AP]M[ \t]+)?(?:IFACE[ \t]+)?(?:active/s|atmptf/s|totsck|rxpck/s)|^# hostname;interval;",
        "sar's rates for the whole machine: nstat -az, run twice, prints the counters behind them; explain reads it",
    ),
    (r"^-*procs-* -+memory|^ *\d+ K total memory|^top - |^USER +PID +%CPU|^Linux \S+ \(\S+\)", _MACHINE),
    (r"^-+total-(?:cpu-)?usage|^ *[\d:]+ up .*load average|^Mem: \d+K used", _MACHINE),
    (r"^\s*Requests/sec:|^Requests +\[total|^\s*http_req_duration", "another load generator's report"),
    (
        r"^cpu=\d+\s+(?:found|searched)=",
        "the counters of conntrack -S: if drop grows between two readings, packets are lost; dmesg -T shows why",
    ),
    (
        r"^CONTAINER ID +NAME +CPU %|^NAME +CPU\(cores\)",
        "the CPU and memory of containers: pidstat 1 shows whether one of nginx's workers uses a whole CPU",
    ),
    (r"^(?:tcp|udp) +\d+ .*\bsrc=\S+ dst=", f"the kernel's connection tracking: {_SOCKETS}"),
    (
        r"^\d+: \S+: <[A-Z_,]+>|^Kernel Interface table|^Iface +MTU +RX-OK",
        "a list of interfaces: explain reads ip -s link, which counts each one's lost packets",
    ),
    (r"^\[ *\d+\.\d{6}\] ", "kernel messages, none of which is known to concern nginx"),
    (
        r"^nr_throttled \d+",
        "a cgroup's cpu.stat: if nr_throttled grows between two readings, its quota stops the processes in it",
    ),
    (
        r'^\{"at_s":[\d.]+,"lasted_s":',
        "a recording of event loops without its first line: give the whole file that watch --record wrote",
    ),
    (r"^# (?:HELP|TYPE) \w+ ", "Prometheus metrics, which do not show individual requests"),
    (
        r"^\s*time_(?:namelookup|connect|appconnect|starttransfer|total)\b",
        "times of single requests, by curl -w: nginx's access log of that moment shows its own part of them",
    ),
    (r"^PING \S+ \(|^traceroute to ", f"the output of ping or traceroute: {_PACKETS}"),
    (r"^Limit +Soft Limit +Hard Limit", "a process's limits: nginx's error log names the limit that it reaches"),
    (r"^COMMAND +PID +(?:TID +)?.*\bFD +TYPE ", f"open files, by lsof: {_SOCKETS}"),
    (r"^ +total +used +free ", "the machine's memory, by free: dmesg -T and nginx's error log show whether it ran out"),
    (r"^nginx version: |^built (?:by|with) ", "the version of nginx: it shows no incidents"),
    (r"^\* +(?:Trying|Host|Connected to) ", "the output of curl -v: nginx's logs of that moment show more"),
)
_JSON: Final = re.compile(r"\s*+(?:\{|\[\s*+[\[{\"])")
_LINES: Final = 50


def packed_as(head: bytes) -> str | None:
    """Return how a file is packed; None if it is not packed.

    ``head``: its first bytes.
    """
    return next((name for at, magic, name in _PACKED if head.startswith(magic, at)), None)


def other_server(text: str) -> str | None:
    """Return which other program wrote a log, and what to give instead; None for anything else.

    ``text``: its beginning.
    """
    beginning = _beginning(text)
    for name, words in _IN_FRONT:
        if re.search(words, beginning, re.MULTILINE):
            return (
                f"an access log of {name}: its times cover nginx and everything behind it, without distinguishing "
                "them; give nginx's own access log for the same period"
            )
    found = next((name for name, words in _OTHER_SERVERS if re.search(words, beginning, re.MULTILINE)), None)
    if found is None:
        return None
    return f"a log of {found}, which explain does not read; give nginx's own logs for the same period"


def other_text(text: str) -> str | None:
    """Return what a text is, and what to give instead; None for an unknown text.

    ``text``: its beginning.
    """
    beginning = _beginning(text)
    known = next((sentence for words, sentence in _OTHERS if re.search(words, beginning, re.MULTILINE)), None)
    if known is not None:
        return known
    if _JSON.match(beginning) is not None:
        return _about_json(beginning.lstrip().partition("\n")[0])
    return "binary data, or UTF-16 without a byte order mark" if "\0" in beginning else None


def _about_json(line: str) -> str:
    try:
        is_object = isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        return (
            "JSON lines, but not with nginx's names and formats (status, request_time, time_iso8601 ...): if it is an "
            "access log, give --nginx-conf FILE with its log_format, or --log-format, to name its fields"
        )
    return "JSON, but not one object on each line: jq -c '.[]' or jq -c . prints such lines"


def _beginning(text: str) -> str:
    return "\n".join(text.split("\n", _LINES)[:_LINES])
