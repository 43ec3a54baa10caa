"""nginx's error log: how often it says each of the things that a diagnosis needs.

Lines are "date [level] pid#tid: *connection message, client: ..., upstream: ..." (ngx_log_error_core in
src/core/ngx_log.c and ngx_http_log_error in src/http/ngx_http_request.c). A message may have further lines, such as
what PHP wrote to stderr.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

# Containers' runtimes put a name or a time of their own in front.
_PREFIX: Final = r"(?:[^\[\]\n]{1,80}? )?"
LINE: Final = (
    rf"{_PREFIX}(\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d) \[(debug|info|notice|warn|error|crit|alert|emerg)\] \d+#\d+: "
)
"""What a message begins with."""
UPSTREAMS: Final = "upstreams"
"""Whose an event is, where it is several upstreams' or nobody's."""
_BEGINNING: Final = 160
# Of each event; a name may come from a request.
_MOST_UPSTREAMS: Final = 64
_MOST_TIMES: Final = 1_000
_LINE: Final = re.compile(LINE)
_CONNECTION: Final = re.compile(r"^\*\d+ ")
_TIME: Final = "%Y/%m/%d %H:%M:%S"
_UPSTREAM: Final = re.compile(r', upstream: "(?:\w+://)?(unix:[^:"]+|[^/"]+)')


class Event(StrEnum):
    """What nginx says, by the words that a person reads."""

    REFUSED = "connections that upstreams refused"
    CONNECT_TIMED_OUT = "connections to upstreams that timed out"
    ANSWER_TIMED_OUT = "answers of upstreams that timed out"
    HUNG_UP = "upstreams that hung up before the end of an answer"
    NONE_LEFT = "requests for which no live upstream was left"
    NO_PORT = "connections to upstreams without a free local port"
    UNRESOLVED = "names that could not be resolved"
    TO_FILE = "answers of upstreams that went to temporary files"
    CLIENT_LEFT = "clients that left before their answer"
    CLIENT_TIMED_OUT = "clients that timed out"
    LIMITED = "requests beyond limit_req or limit_conn"
    NO_CONNECTIONS = "times that worker_connections were used up"
    NO_DESCRIPTORS = "times that file descriptors were used up"
    WORKER_LEFT = "notices of workers that leave, as at a reload"


# nginx's own words, and the C library's for an errno; its number differs between systems. The first one that fits.
_WORDS: Final[Mapping[Event, re.Pattern[str]]] = {
    event: re.compile(pattern)
    for event, pattern in {
        Event.REFUSED: r"onnection refused\) while connecting to upstream",
        Event.CONNECT_TIMED_OUT: r"timed out[^,]* while connecting to upstream",
        Event.ANSWER_TIMED_OUT: r"^upstream timed out",
        Event.HUNG_UP: r"^upstream prematurely closed|reset by peer\) while reading [\w ]*upstream",
        Event.NONE_LEFT: r"^no live upstreams",
        Event.NO_PORT: r"annot assign requested address\) while connecting to upstream",
        Event.UNRESOLVED: r" could not be resolved",
        Event.TO_FILE: r"^an upstream response is buffered to a temporary file",
        Event.CLIENT_LEFT: r"client prematurely closed connection",
        Event.CLIENT_TIMED_OUT: r"^client timed out",
        Event.LIMITED: r"^limiting (?:requests|connections)",
        Event.NO_CONNECTIONS: r"worker_connections are not enough",
        Event.NO_DESCRIPTORS: r"oo many open files",
        # Of level notice (src/os/unix/ngx_process_cycle.c and ngx_process.c).
        Event.WORKER_LEFT: r"^(?:gracefully shutting down|worker process \d+ exited with code 0)",
    }.items()
}


@dataclass(frozen=True, kw_only=True)
class ErrorLog:
    """What an error log says."""

    messages: int  # how many messages there are, each counted once however many lines it has
    levels: Mapping[str, int]  # how many messages there are of each level
    events: Mapping[Event, int]  # how often each event happened; those that did not are not in it
    upstreams: Mapping[Event, Mapping[str, int]]  # for an event, how often each upstream's address was named in it
    workers_left: tuple[datetime, ...]  # when workers left, the first 1000 times, in the log's own time zone
    first: datetime  # time of the first message, in the log's own time zone
    last: datetime  # time of the last one

    def of(self, event: Event) -> int:
        """Return how often an event happened."""
        return self.events.get(event, 0)

    def whose(self, event: Event) -> str:
        """Return the one upstream that an event is about, such as "10.0.0.5:8080"; "upstreams" for several, or none."""
        named = self.upstreams.get(event, {})
        return next(iter(named)) if len(named) == 1 else UPSTREAMS


class Collector:
    """Counts the messages among lines; a container's output has requests between them."""

    def __init__(self) -> None:
        self._levels: Counter[str] = Counter()
        self._events: Counter[Event] = Counter()
        self._upstreams: dict[Event, Counter[str]] = {}
        self._workers_left: list[datetime] = []
        self._first = datetime.max.replace(tzinfo=UTC)
        self._last = datetime.min.replace(tzinfo=UTC)

    def add(self, line: str) -> bool:
        """Count a line; return whether it is a message."""
        # What begins with a request has none there: most lines are told apart for little.
        match = _LINE.match(line) if "#" in line[:_BEGINNING] else None
        if match is None:
            return False
        try:
            at = datetime.strptime(match[1], _TIME).replace(tzinfo=UTC)
        except ValueError:
            # A day that there is not.
            return False
        self._first, self._last = min(at, self._first), max(at, self._last)
        self._levels[match[2]] += 1
        message = _CONNECTION.sub("", line[match.end() :])
        event = next((event for event, words in _WORDS.items() if words.search(message)), None)
        if event is not None:
            self._events[event] += 1
            if event is Event.WORKER_LEFT and len(self._workers_left) < _MOST_TIMES:
                self._workers_left.append(at)
            if (upstream := _UPSTREAM.search(message)) is not None:
                named = self._upstreams.setdefault(event, Counter())
                if upstream[1] in named or len(named) < _MOST_UPSTREAMS:
                    named[upstream[1]] += 1
        return True

    def log(self) -> ErrorLog | None:
        """Return what the messages say; None without any."""
        if not self._levels:
            return None
        return ErrorLog(
            messages=self._levels.total(),
            levels=dict(self._levels.most_common()),
            events={event: self._events[event] for event in Event if event in self._events},
            upstreams={event: dict(named.most_common()) for event, named in self._upstreams.items()},
            workers_left=tuple(self._workers_left),
            first=self._first,
            last=self._last,
        )


def parse(lines: Iterable[str]) -> ErrorLog:
    """Read an error log."""
    collector = Collector()
    for line in lines:
        collector.add(line)
    if (log := collector.log()) is None:
        raise MalformedEvidenceError("expected lines of nginx's error log, found none", line=1, column=1)
    return log


def figures(log: ErrorLog) -> tuple[Figure, ...]:
    """List what it says: the events, then the rest by level."""
    told = [Figure(key=event.name.lower(), name=event.value, value=number) for event, number in log.events.items()]
    return (
        Figure(key="messages", name="messages", value=log.messages),
        Figure(
            key="duration_s", name="from the first to the last", value=(log.last - log.first).total_seconds(), unit="s"
        ),
        *told,
        *(
            Figure(key="messages_of_level", name=f"of level {level}", value=number, of=level)
            for level, number in log.levels.items()
        ),
    )
