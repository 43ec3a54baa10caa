"""Lines of the kernel, systemd and Kubernetes with a row, as from dmesg, journalctl and kubectl describe."""

import re
from dataclasses import dataclass
from typing import Final

from tuneproof.explain.parse.wrapped import unwrapped
from tuneproof.messages.patterns import find_one

# "[12345.678901] ", and the form of dmesg -T; dmesg -x adds facility and level before it.
_STAMP: Final = re.compile(
    r"(?:<\d{1,3}>)?(?:\w+ *: *\w+ *: )?\[(?:[ \d]+\.\d+|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "
)
_BLANKS: Final = re.compile(r"\s+")
# kubectl's events: type, reason, age and source before the message.
_EVENT: Final = re.compile(
    r"^(?:\S+ )?(?:Warning|Normal) \S+ (.{1,200}? )?(?=(?:Liveness|Readiness|Startup) probe failed: )"
)
_TIMES: Final = re.compile(r"\(x(\d{1,6}) over ")
# ingress-nginx's own log: level, month and day, time, thread, place.
_KLOG: Final = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\] ")
# Words of all rows: one search skips most other lines.
_ANY_OF_THEM: Final = re.compile(
    r"segfault at|general protection|invalid opcode|[Oo]ut of (?:socket )?memory|oom-kill|oom_kill|OOM ?[Kk]ill|"
    r"SYN flooding|page allocation failure|table full, dropping|orphaned sockets|file-max limit|able overflow|overruns|"
    r"NETDEV WATCHDOG|"
    r"rx_\w+_errors|rx_no_buffer|blocked for more than|Link is Down|link down|link is not ready|nginx\.service|"
    r"probe failed|Failed to start|killed as a result of limit|active Endpoint"
)
_LONGEST: Final = 1_000
_REQUEST: Final = re.compile(r'"[A-Z]+ ')


@dataclass(frozen=True, kw_only=True)
class SystemMessage:
    """A message with a row."""

    row: str  # the row's id
    text: str  # without its prefix
    times: int = 1  # how often it happened


def message_of(line: str) -> SystemMessage | None:
    """Return the message of a line; None if no row matches."""
    # A log of requests has clients' data in quotes, which is not a message of the system.
    if _ANY_OF_THEM.search(line) is None or _REQUEST.search(line) is not None:
        return None
    text = unwrapped(line)
    text = _BLANKS.sub(" ", _STAMP.sub("", text.strip(), count=1)).strip("\u25cf\u251c\u2514\u2500 ")
    text = _KLOG.sub("", text)
    event = _EVENT.match(text)
    times = _TIMES.search(event[0]) if event is not None else None
    text = text[event.end() :] if event is not None else text
    found = find_one(text[:_LONGEST])
    if found is None or found.area != "kernel":
        return None
    return SystemMessage(row=found.id, text=text, times=int(times[1]) if times is not None else 1)
