"""Finds rows for lines from other programs: the kernel, systemd, Docker, Kubernetes, and servers behind nginx.

These are the rows without levels.
"""

import re
from dataclasses import dataclass
from typing import Final

from tuneproof.explain.parse.wrapped import unwrapped
from tuneproof.messages.patterns import find_one

# "[12345.678901] ", and the form of dmesg -T; dmesg -x adds facility and level before it.
_STAMP: Final = re.compile(
    r"(?:<\d{1,3}>)?(?:\w+ *: *\w+ *: )?\[(?:[ \d]+\.\d+|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "
)
# Prefixes of other logs: auditd, also in the kernel's log; klog, as in ingress-nginx; PHP-FPM; gunicorn; uWSGI;
# supervisord; Passenger; nginx without a level.
_OWN: Final = re.compile(
    r"(?:audit: )?type=\w+ (?:msg=)?audit\([\d.:]+\): "
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\] "
    r"|\[\d\d-\w{3}-\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\] (?:[A-Z]+: )?(?:pid \d+, \w+\(\), line \d+: )?"
    r"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}\] \[\d+\] \[[A-Z]+\] "
    r"|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} - "
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,5} "
    r"|\[ [A-Z] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [^\]]{1,200}\]: "
    # PHP-FPM with error_log = syslog
    r"|\[(?:DEBUG|NOTICE|WARNING|ERROR|ALERT)\] "
    r"|(?:nginx|angie): "
)
_BLANKS: Final = re.compile(r"\s+")
# kubectl's events: type, reason, age and source before the message.
_EVENT: Final = re.compile(
    r"^(?:\S+ )?(?:Warning|Normal) \S+ (.{1,200}? )?(?=(?:Liveness|Readiness|Startup) probe failed: |"
    r"Back-off restarting|MountVolume\.SetUp failed|The node was low|Pod ephemeral|Usage of EmptyDir|"
    r"Container \S+ exceeded its|Failed to pull image|Error: (?:ErrImagePull|ImagePullBackOff)|Back-off pulling|"
    r"\d+/\d+ nodes are available)"
)
_TIMES: Final = re.compile(r"\(x(\d{1,6}) over ")
# Messages of rows without levels contain one of these; most lines do not. Searching takes a tenth of a pattern's time.
_ANY_OF_THEM: Final = tuple(
    (  # noqa: SIM905 - one line for each of eighty short texts would hide the program around them
        "segfault at|general protection|invalid opcode|ut of memory|ut of socket memory|oom-kill|OOM kill|OOMKill|"
        "SYN flooding|page allocation failure|table full, dropping|orphaned sockets|file-max limit|able overflow|"
        "overruns|NETDEV WATCHDOG|_errors: |rx_no_buffer|blocked for more|Link is Down|Link is down|link down|"
        "nginx.service|probe failed|killed as a result of limit|active Endpoint|A high performance web|The nginx|"
        "nginx - |start nginx|starts the nginx|for nginx|dumped core|avc: |apparmor=|sig=31|soft lockup|I/O error|"
        "medium error|EXT4-fs|not responding|syntax is ok|test is successful|test failed|already allocated|"
        "already in use|vice-versa|exec format error|no such file|docker-entrypoint|envsubst-on|listen-on-ipv6|"
        'obtaining Endpoints|SSL certificate "|reloading the backend|denied the request|Back-off restarting|'
        "MountVolume|low on resource|ephemeral|EmptyDir|[pool |listening socket|FPM instance|HARAKIRI|"
        "DAMN ! worker|exited: nginx|gave up: nginx|ErrImagePull|ImagePullBackOff|pull image|pulling image|"
        "nodes are available|CrashLoopBackOff|ExecStart|Could not spawn process|shared libraries|symbol lookup|"
        "' not found|WORKER TIMEOUT|SIGKILL|due to signal 9|uWSGI listen|SIGPIPE: "
    ).split("|")
)
_LONGEST: Final = 1_000
_REQUEST: Final = re.compile(r'(?<!\(request: )"[A-Z]+ ')


@dataclass(frozen=True, kw_only=True)
class SystemMessage:
    """A message, and its row."""

    row: str  # the row's id
    text: str  # without its prefix
    times: int = 1  # how often it happened


def message_of(line: str) -> SystemMessage | None:
    """Return the message of a line; None if no row matches."""
    # An access log contains clients' data in quotes, which are not messages from the system.
    if not any(words in line for words in _ANY_OF_THEM) or _REQUEST.search(line) is not None:
        return None
    text = unwrapped(line)
    text = _BLANKS.sub(" ", _STAMP.sub("", text.strip(), count=1)).strip("\u25cf\u251c\u2514\u2500 ")
    text = text[own.end() :] if (own := _OWN.match(text)) is not None else text
    event = _EVENT.match(text)
    times = _TIMES.search(event[0]) if event is not None else None
    text = text[event.end() :] if event is not None else text
    found = find_one(text[:_LONGEST])
    if found is None or found.levels:
        return None
    return SystemMessage(row=found.id, text=text, times=int(times[1]) if times is not None else 1)
