"""Counts messages in nginx's error log, and messages from the kernel, systemd and Kubernetes about nginx.

Lines are "date [level] pid#tid: *connection message, client: ..., upstream: ..." (ngx_log_error_core in
src/core/ngx_log.c and ngx_http_log_error in src/http/ngx_http_request.c). At startup, and from ``nginx -t``, they are
"nginx: [level] message". A message may have further lines, such as PHP's output on stderr. The rows of
tuneproof.messages identify messages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from tuneproof.explain.parse import system_lines
from tuneproof.explain.parse.figures import MOST_FIGURES, Figure
from tuneproof.explain.parse.joined_messages import CLIENT, LONGEST, NEVER_PRINTED, NONE, Begun, JoinedMessages
from tuneproof.explain.parse.line_sample import LineSample, LineSampler
from tuneproof.explain.parse.message_counts import MessageCount, MessageCounts, Unknown
from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.wrapped import inner_lines, nginx_line
from tuneproof.messages.patterns import find_one, words_again
from tuneproof.messages.rows import LEVELS, messages
from tuneproof.wording import plain_quotes

UPSTREAMS: Final = "upstreams"
"""Replaces the upstream of an event that names several upstreams or none."""
_BEGINNING: Final = 400
_NUMBERS: Final = re.compile(r"[/ :]")
_MOST_TIMES: Final = 1_000
_MOST_STARTUP: Final = 1_000
_LEVELS: Final = f"(?i:{LEVELS})"
# People also hide numbers: "xxxx#xxxx: *xx".
_ID: Final = r"(?:\d+|[xX*]{1,10})"
_LINE: Final = re.compile(
    # People leave the time out, and so do tools with their own time; some write levels in capitals.
    rf"(?:(\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d) )?\[({_LEVELS})\] {_ID}#{_ID}: (?:\*{_ID} )?"
    rf"|(?:nginx|angie): \[({LEVELS})\] "
)
# Prefixes of lists, quotations and code in web threads; not quotes, which may begin a column of a log.
_LISTED: Final = " \t>*-`"
# Other programs, too, log lines of this form, without a process id, so the message must be known.
_BARE: Final = re.compile(
    rf"(?:(\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d),? )?(?:\[({_LEVELS})\]|({_LEVELS})):? (?:\*\d+ )?(?=[a-zA-Z\"])"
)
# A process, and the number of one of its connections.
_CONNECTION: Final = re.compile(r"\d+#\d+: \*\d+ \Z")
# How people begin a quotation from the middle of a line.
_ELLIPSIS: Final = re.compile(r"[\"'\u201c]?(?:\.\.\.|\u2026) ?(?=\[)")
# Prefixes of a message that is quoted alone, and process ids without a level.
_QUOTED: Final = f"{_LISTED}\"'"
_PROCESS: Final = re.compile(r"(?<!\d)\d+#\d+: (?:\*\d+ )?")
_CONNECTION_ALONE: Final = re.compile(r"\A\d{1,12} ")
_WRAPPED: Final = re.compile(r"\)[ \t\r]*\n[ \t>*]*(?=while )")
# How syslog reports repeated lines: on a separate line, or around the last one.
_REPEATED: Final = re.compile(r"last message repeated (\d{1,7}) times?$")
_REPEATED_AS: Final = re.compile(r"message repeated (\d{1,7}) times: \[ ")
# Messages of level notice (src/os/unix/ngx_process_cycle.c and ngx_process.c).
_WORKER_LEFT: Final = re.compile(r"gracefully shutting down|worker process \d+ exited with code 0")


RowAndText = tuple[str, str]
"""A row's id and the text of a message."""


class Event(StrEnum):
    """nginx's events, by their displayed names."""

    REFUSED = "connections that upstreams refused"
    CONNECT_TIMED_OUT = "connections to upstreams that timed out"
    ANSWER_TIMED_OUT = "upstream responses that timed out"
    HUNG_UP = "upstreams that closed the connection before the end of a response"
    UNANSWERED = "upstreams that closed the connection instead of answering"
    NONE_LEFT = "requests for which no live upstream was left"
    NO_PORT = "connections to upstreams without a free local port"
    UNRESOLVED = "names that could not be resolved"
    TO_FILE = "upstream responses that went to temporary files"
    CLIENT_LEFT = "clients that left before their response"
    CLIENT_TIMED_OUT = "clients that timed out"
    LIMITED = "requests beyond limit_req or limit_conn"
    NO_CONNECTIONS = "times that worker_connections was used up"
    NO_DESCRIPTORS = "times that file descriptors were used up"
    WORKER_LEFT = "notices of exiting workers, as at a reload"


EVENTS: Final[Mapping[Event, tuple[str, ...]]] = {
    Event.REFUSED: ("upstream_refused", "upstream_socket_refused"),
    Event.CONNECT_TIMED_OUT: ("upstream_connect_timeout", "upstream_connect_timeout_kernel"),
    Event.ANSWER_TIMED_OUT: (
        "upstream_header_timeout",
        "upstream_body_timeout",
        "upstream_send_timeout",
        "upstream_handshake_timeout",
    ),
    Event.HUNG_UP: ("upstream_closed_early", "upstream_closed_in_body", "upstream_reset"),
    Event.UNANSWERED: ("upstream_closed_early", "upstream_reset"),
    Event.NONE_LEFT: ("no_live_upstreams",),
    Event.NO_PORT: ("upstream_no_port",),
    Event.UNRESOLVED: (
        "upstream_not_resolved_nxdomain",
        "upstream_not_resolved_servfail",
        "upstream_not_resolved_refused",
        "upstream_not_resolved_timeout",
        "upstream_not_resolved_other",
    ),
    Event.TO_FILE: ("response_to_temporary_file",),
    Event.CLIENT_LEFT: ("client_closed_waiting",),
    Event.CLIENT_TIMED_OUT: ("client_timed_out",),
    Event.LIMITED: ("limit_req", "limit_conn"),
    Event.NO_CONNECTIONS: ("worker_connections", "worker_connections_reused"),
    Event.NO_DESCRIPTORS: ("files_accept", "files_upstream", "files_open", "files_system"),
}
"""The rows, by their ids, with the messages that count as each event."""


@dataclass(frozen=True, kw_only=True)
class ErrorLog:
    """The content of an error log."""

    messages: int  # number of messages; one with several lines counts once
    levels: Mapping[str, int]  # number of nginx's messages by level
    events: Mapping[Event, int]  # how often each event happened, if it did
    upstreams: Mapping[Event, Mapping[str, int]]  # for each event, its number by upstream address
    workers_left: tuple[datetime, ...]  # when workers shut down or exited, the first 1000, in the log's own time zone
    first: datetime | None  # time of the first message, in the log's own time zone; None without times
    last: datetime | None  # time of the last message
    known: tuple[MessageCount, ...] = ()  # one count for each row and hour with matching messages
    unknown: Unknown = field(default_factory=Unknown)  # messages at level error or above without a row
    logged: Mapping["RowAndText", int] = field(default_factory=dict)
    """How often a startup message was written to the log, but not to the terminal or a journal."""
    printed: Mapping["RowAndText", int] = field(default_factory=dict)
    """How often a startup message was written to the terminal or a journal, but not to the log."""
    of_connections: LineSample = field(default_factory=LineSample)
    """A sample of the messages with a time and the number of a connection."""
    is_cut: bool = False  # whether only a part of the file could be unpacked

    def of(self, event: Event) -> int:
        """Return how often an event happened."""
        return self.events.get(event, 0)

    def upstream_of(self, event: Event) -> str:
        """Return the only upstream of an event, such as "10.0.0.5:8080"; "upstreams" for several or none."""
        named = self.upstreams.get(event, {})
        return next(iter(named)) if len(named) == 1 else UPSTREAMS


class Collector:
    """Counts the messages in lines; a container's output may contain requests as well."""

    def __init__(self) -> None:
        self._levels: Counter[str] = Counter()
        self._counts = MessageCounts()
        self._left: Counter[str] = Counter()
        self._has_system = False
        # Times stay text, which sorts in order of time. The previous one is kept: many lines have the same time.
        self._first = self._last = self._previous = ""
        self._joined = JoinedMessages(self._counts)
        self._before = NONE  # the message of the previous line
        # At startup nginx writes a message to its log and, with another prefix, to its terminal. By level and message.
        self._logged: Counter[tuple[str, str]] = Counter()
        self._printed: Counter[tuple[str, str]] = Counter()
        self._of_connections = LineSampler()

    def add(self, line: str) -> bool:
        """Count a line; return whether it is a message, or belongs to one."""
        match = _LINE.match(line)
        if match is None:
            # This quick check skips most lines without a message.
            beginning = line[:_BEGINNING]
            if "#" in beginning or ": [" in beginning or line[:1] in "{\x1b" or line[:2] == "[{":
                repeated = _REPEATED_AS.search(beginning)
                line = nginx_line(line).lstrip(_LISTED)
                line = line[quoted_from.end() :] if (quoted_from := _ELLIPSIS.match(line)) is not None else line
                match = _LINE.match(line)
                if match is None and (inner := inner_lines(line)):
                    return bool([self.add(each) for each in inner])
                if match is not None and repeated is not None:
                    return self._add(match, line.rstrip().removesuffix("]"), int(repeated[1]))
            if match is None and (bare := _BARE.match(line)) is not None and CLIENT in line:
                match = bare if find_one(line[bare.end() :], (bare[2] or bare[3]).lower()) is not None else None
            if match is None:
                return self._repeats(line) or self._joined.goes_on(line) or self._add_system(line)
        return self._add(match, line, 1)

    def _add(self, match: re.Match[str], line: str, times: int) -> bool:
        at = match[1] or ""
        if at and at != self._previous and not self._is_time(at):
            return False
        level = (match[2] or match[3]).lower()
        message = plain_quotes(line[match.end() : match.end() + LONGEST].rstrip())
        if level not in NEVER_PRINTED and CLIENT not in message:
            times -= self._copies((level, message), times, is_printed=bool(match[3]))
        self._levels[level] += times
        if at and _CONNECTION.search(match[0]):
            self._of_connections.add(f"{match[0]}{message}")
        if _WORKER_LEFT.match(message):
            self._left[at] += times
        self._before = Begun(message, level, at)
        self._joined.add(self._before, times)
        return True

    def _copies(self, message: tuple[str, str], times: int, *, is_printed: bool) -> int:
        """Return how many of these startup messages are copies: nginx's log and its terminal each have one."""
        own, other = (self._printed, self._logged) if is_printed else (self._logged, self._printed)
        copies = min(times, other[message])
        if copies:
            other[message] -= copies
        if message in own or len(own) < _MOST_STARTUP:
            own[message] += times - copies
        return copies

    def _repeats(self, line: str) -> bool:
        (message, level, at), self._before = self._before, NONE
        repeated = _REPEATED.search(line) if message and "repeated" in line else None
        if repeated is None:
            return False
        self._joined.end()
        self._levels[level] += int(repeated[1])
        self._counts.add(message, level=level, at=at, times=int(repeated[1]))
        return True

    def _is_time(self, at: str) -> bool:
        """Record a message's time; return whether it is valid."""
        if time_of(at) is None:
            return False
        self._previous = at
        if not self._first:
            self._first = self._last = at
        elif at > self._last:
            self._last = at
        elif at < self._first:
            self._first = at
        return True

    def _add_system(self, line: str) -> bool:
        found = system_lines.message_of(line)
        if found is None:
            return False
        self._has_system = True
        self._counts.add_known(found.row, found.text, times=found.times)
        return True

    def log(self) -> ErrorLog | None:
        """Return the content of the lines so far; None without messages."""
        if not self._levels and not self._has_system:
            return None
        self._joined.end()
        known = self._counts.known()
        events, upstreams = _events(known)
        if self._left:
            events[Event.WORKER_LEFT] = self._left.total()
        times = (time_of(at) for at, number in self._left.items() for _ in range(min(number, _MOST_TIMES)))
        return ErrorLog(
            messages=self._levels.total() + sum(count.number for count in known if not messages()[count.row].levels),
            levels=dict(self._levels.most_common()),
            events=events,
            upstreams=upstreams,
            workers_left=tuple(at for at in times if at is not None)[:_MOST_TIMES],
            known=known,
            unknown=self._counts.unknown(),
            logged=_by_row(self._logged),
            printed=_by_row(self._printed),
            of_connections=self._of_connections.sample(),
            first=time_of(self._first),
            last=time_of(self._last),
        )


def _events(known: Sequence[MessageCount]) -> tuple[dict[Event, int], dict[Event, Mapping[str, int]]]:
    """Return how often each event happened, and how often it names each upstream."""
    events: dict[Event, int] = {}
    upstreams: dict[Event, Mapping[str, int]] = {}
    for event, rows in EVENTS.items():
        counts = [count for count in known if count.row in rows]
        if counts:
            events[event] = sum(count.number for count in counts)
            named = sum((Counter(count.upstreams) for count in counts), Counter[str]())
            if named:
                upstreams[event] = dict(named.most_common())
    return events, upstreams


def with_only(log: ErrorLog, known: Sequence[MessageCount]) -> ErrorLog:
    """Return a log with only these of its known messages; its levels and period stay."""
    events, upstreams = _events(known)
    if Event.WORKER_LEFT in log.events:
        events[Event.WORKER_LEFT] = log.events[Event.WORKER_LEFT]
    removed = sum(count.number for count in log.known) - sum(count.number for count in known)
    return replace(log, messages=log.messages - removed, known=tuple(known), events=events, upstreams=upstreams)


def _by_row(written: Counter[tuple[str, str]]) -> dict[RowAndText, int]:
    rows = {key: find_one(key[1], key[0]) for key, times in written.items() if times}
    return {
        (row.id, message): written[level, message]
        for (level, message), row in rows.items()
        if row is not None and not words_again(row, message)
    }


def time_of(text: str) -> datetime | None:
    """Return a message's time, as if in UTC: the log does not name its zone. None if the text is no valid time."""
    try:
        year, month, day, hour, minute, second = map(int, _NUMBERS.split(text))
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def any_message(lines: Iterable[str]) -> bool:
    """Tell whether any of the lines is a message from nginx, or from the system about it."""
    collector = Collector()
    return any(collector.add(line) for line in lines)


def parse(lines: Iterable[str]) -> ErrorLog:
    """Read an error log.

    Raises MalformedEvidenceError: No line is a message.
    """
    collector = Collector()
    for line in lines:
        collector.add(line)
    if (log := collector.log()) is None:
        raise MalformedEvidenceError("expected lines from nginx's error log, found none", line=1, column=1)
    return log


def quoted(text: str) -> ErrorLog | None:
    """Return the messages that a text quotes without their time and level; None if there are none.

    The text must not be a log, in which such a line may come from a client.
    """
    counts, before = MessageCounts(), ""
    for line in _WRAPPED.sub(") ", text).split("\n"):
        own = _PROCESS.sub("", plain_quotes(line).strip(_QUOTED), count=1)
        texts = (text for whole in (own, f"{before} {own}") for text in (whole, _CONNECTION_ALONE.sub("", whole)))
        message, before = next((each for each in texts if find_one(each) is not None), ""), own
        if (row := find_one(message)) is not None and row.levels:
            counts.add(message, level="", at="")
            before = ""
    known = counts.known()
    number = sum(count.number for count in known)
    if not number:
        return None
    return ErrorLog(
        messages=number, levels={}, events={}, upstreams={}, workers_left=(), first=None, last=None, known=known
    )


def figures(log: ErrorLog) -> tuple[Figure, ...]:
    """List the figures of an error log: the events, the messages by level, then the most frequent rows."""
    by_row = sum((Counter({count.row: count.number}) for count in log.known), Counter[str]())
    events = [Figure(key=event.name.lower(), name=event.value, value=number) for event, number in log.events.items()]
    lasted = (log.last - log.first).total_seconds() if log.first and log.last else None
    shown = (
        Figure(key="messages", name="messages", value=log.messages),
        Figure(key="duration_s", name="from the first to the last", value=lasted, unit="s"),
        *events,
        *(
            Figure(key="messages_of_level", name=f"at level {level}", value=number, of=level)
            for level, number in log.levels.items()
        ),
        *(Figure(key="message", name=f"message {row}", value=number, of=row) for row, number in by_row.most_common()),
    )
    return shown[:MOST_FIGURES]
