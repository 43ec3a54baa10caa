"""Counts an error log's messages by row, with the names in them, in bounded memory."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tuneproof.messages.codes import code_of, coded
from tuneproof.messages.patterns import find_cut, find_one, words_again
from tuneproof.messages.rows import Message, messages

MOST_NAMES: Final = 256
"""The most names kept per kind, row and hour, since clients can send any number. A full set may lack some names."""
_OF_ZONES: Final = frozenset(
    {"limit_req", "limit_req_delay", "limit_conn", "limit_dry_run", "limit_req_zone_full", "zone_full"}
)
_MOST_SHAPES: Final = 4_096
_MOST_UNKNOWN: Final = 3
# Ten rows in each hour of a month.
_MOST_COUNTS: Final = 8_192
_HOUR: Final = len("2026/11/26 09")
_SHOWN_CHARACTERS: Final = 300
_SERIOUS: Final = frozenset({"error", "crit", "alert", "emerg"})
_CLIENT: Final = ", client: "
_SUBREQUEST: Final = '", subrequest: "'
_UDP_CLIENT: Final = ", udp client: "
_CONTEXT: Final = re.compile(
    r", (?:udp )?client: ([^,\s]{1,64})(?: using starttls)?(?:, server: ([^,\"]{0,200}))?"
    r'(?:, request: "([A-Z]{1,20}) ([^\s?"]{0,500}))?'
)
# mail logs the upstream without quotes.
_OF_MAIL: Final = re.compile(r', login: "|, upstream: [^"]| using starttls, server: ')
_MAIL_STATES: Final = (" while in auth state", " while in http auth state", " while in starttls state")
_UPSTREAM: Final = re.compile(r', upstream: "?(?:(\w{1,20})://)?(unix:[^:"]+|[^/",\s]+)')
# HTTP logs the server's name; stream and mail log its listening address.
_PORT: Final = re.compile(r":\d{1,5}$")
# Before there is a request, HTTP logs the listening address, too.
_OF_HTTP_TOO: Final = (
    *(" while SSL handshaking", " while reading PROXY protocol", " while waiting for request", " while keepalive"),
    *(" while processing HTTP/2 connection", " while processing HTTP/3 connection", " while handling quic packets"),
)
# A variable part of a URI: a number, a hash or a UUID.
_IDENTIFIER: Final = re.compile(r"/(?:\d+|[0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f-]{27})(?=/|$)")
_CONNECTION: Final = re.compile(r"\d{1,12} ")
# The PROXY protocol where nginx expects a request.
_PROXY: Final = ', request: "PROXY '
_RESOLVER: Final = re.compile(r" while resolving, resolver: (\S{1,100})")
_ZONE: Final = re.compile(r'(?:zone|cache) "([^"]{1,100})"')


@dataclass(frozen=True, kw_only=True)
class MessageCount:
    """One row's messages in one hour."""

    row: str  # the row's id
    number: int
    first: str  # time of the first one, as in the log; empty if unknown
    last: str  # time of the last one
    example: str  # the first one, at most 300 characters
    upstreams: Mapping[str, int] = field(default_factory=dict)  # by address; as below, the most frequent first
    clients: Mapping[str, int] = field(default_factory=dict)  # by address
    servers: Mapping[str, int] = field(default_factory=dict)  # by server_name
    requests: Mapping[str, int] = field(default_factory=dict)
    """By method and URI, without its query, and with a star for each number, hash or UUID in it."""
    zones: Mapping[str, int] = field(default_factory=dict)  # by name, for limits and full zones
    resolvers: Mapping[str, int] = field(default_factory=dict)  # by the DNS server's address
    codes: Mapping[str, int] = field(default_factory=dict)  # by the number in the message, if the row depends on it
    schemes: Mapping[str, int] = field(default_factory=dict)  # by the scheme of their upstream, such as "fastcgi"
    streams: int = 0  # number about connections in stream{} or mail{}, not about requests
    mails: int = 0  # number of these that are certainly about mail{}
    subrequests: int = 0  # number about subrequests


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """Messages at level error or above without a row."""

    number: int = 0
    examples: tuple[str, ...] = ()  # the first three that differ before their context


class _Count:
    __slots__ = (
        "again",
        "clients",
        "codes",
        "example",
        "first",
        "last",
        "mails",
        "number",
        "requests",
        "resolvers",
        "schemes",
        "servers",
        "streams",
        "subrequests",
        "upstreams",
        "zones",
    )

    def __init__(self, example: str) -> None:
        self.number = self.streams = self.mails = self.subrequests = 0
        self.again: dict[str, int] = {}  # number of accompanying lines, by their words
        self.example = example[:_SHOWN_CHARACTERS]
        self.first = self.last = ""
        self.upstreams: dict[str, int] = {}
        self.clients: dict[str, int] = {}
        self.servers: dict[str, int] = {}
        self.requests: dict[str, int] = {}
        self.zones: dict[str, int] = {}
        self.resolvers: dict[str, int] = {}
        self.schemes: dict[str, int] = {}
        self.codes: dict[str, int] = {}

    def add_names(self, row: str, message: str, end: int, times: int) -> None:
        """Count the names in a message; ``end``: where its context begins, or -1."""
        match = _CONTEXT.match(message, end) if end >= 0 else None
        if match is not None:
            client, server, method, uri = match.groups()
            _more(self.clients, client, times)
            if server:
                _more(self.servers, server, times)
                is_any = message.endswith(_OF_HTTP_TOO, 0, end)
                if not method and not is_any and _PORT.search(server) is not None:
                    self.streams += times
                    is_mail = message.endswith(_MAIL_STATES, 0, end) or _OF_MAIL.search(message, end) is not None
                    self.mails += times * is_mail
            if method:
                _more(self.requests, f"{method} {_IDENTIFIER.sub('/*', uri)}", times)
            end = match.end()
        self.subrequests += times * (_SUBREQUEST in message)
        if ", upstream: " in message and (upstream := _UPSTREAM.search(message, max(end, 0))) is not None:
            _more(self.upstreams, upstream[2], times)
            _more(self.schemes, upstream[1] or "", times)
        if row in coded():
            _more(self.codes, code_of(message), times)
        if row in _OF_ZONES and (zone := _ZONE.search(message)) is not None:
            _more(self.zones, zone[1], times)
        if ", resolver: " in message and (resolver := _RESOLVER.search(message)) is not None:
            _more(self.resolvers, resolver[1], times)


def _end_of_words(message: str) -> int:
    """Return where a message's context (client, server, ...) begins, or -1; a quoted URI or path may look like it."""
    first = end = message.find(_CLIENT)
    while end >= 0 and message.count('"', 0, end) % 2:
        end = message.find(_CLIENT, end + 1)
    end = end if end >= 0 else first
    return end if end >= 0 else message.find(_UDP_CLIENT)


def _without_number(message: str, level: str) -> Message | None:
    """Find a row for the text after a connection's number: Markdown removes the asterisk before it."""
    number = _CONNECTION.match(message)
    return find_one(message[number.end() :], level) if number is not None else None


def _more(names: dict[str, int], name: str, times: int) -> None:
    if name in names:
        names[name] += times
    elif len(names) < MOST_NAMES:
        names[name] = times


class MessageCounts:
    """Counts messages by row and hour: a log may span weeks, but a problem may last only an hour."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}
        # The row of a message, by its level and its words up to the context: most messages are of a few kinds.
        self._rows: dict[tuple[str, str, bool, bool], tuple[str, str]] = {}
        self._unknown = 0
        self._examples: dict[str, str] = {}  # by the words up to the context

    def add(self, message: str, *, level: str, at: str, times: int = 1) -> None:
        """Count a message, which is given without its time, level and process.

        ``at``: its time, in a form in which later times compare greater; empty if unknown.
        """
        end = _end_of_words(message)
        head = message[:end] if end >= 0 else message
        shape = level, head, end < 0, _PROXY in message
        known = self._rows.get(shape)
        if known is None:
            found = find_one(message, level) or find_cut(message, level) or _without_number(message, level)
            known = (found.id, words_again(found, message)) if found is not None else ("", "")
            if len(self._rows) >= _MOST_SHAPES:
                self._rows.clear()
            self._rows[shape] = known
        row, again = known
        if row:
            self._count(row, message, end, at, again, times)
        elif level in _SERIOUS:
            self._unknown += times
            if len(self._examples) < _MOST_UNKNOWN:
                self._examples.setdefault(head, message[:_SHOWN_CHARACTERS])

    def add_known(self, row: str, message: str, *, times: int) -> None:
        """Count a message of a known row, without a time."""
        self._count(row, message, -1, "", words_again(messages()[row], message), times)

    def _count(self, row: str, message: str, end: int, at: str, again: str, times: int) -> None:
        key = (row, at[:_HOUR])
        if key not in self._counts and len(self._counts) >= _MOST_COUNTS:
            # Messages in further hours count together.
            key = (row, "")
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = _Count(message)
        if again:
            count.again[again] = count.again.get(again, 0) + times
        else:
            count.number += times
        if at:
            if not count.first:
                count.first = count.last = at
            elif at > count.last:
                count.last = at
            elif at < count.first:
                count.first = at
        count.add_names(row, message, end, times)

    def known(self) -> tuple[MessageCount, ...]:
        """Return the counts."""
        # A row's accompanying lines count only if none of its other lines was counted in any hour.
        counted = {row for (row, _), count in self._counts.items() if count.number}
        return tuple(
            MessageCount(
                row=row,
                number=count.number or max(count.again.values(), default=0),
                first=count.first,
                last=count.last,
                example=count.example,
                upstreams=_most(count.upstreams),
                clients=_most(count.clients),
                servers=_most(count.servers),
                requests=_most(count.requests),
                zones=_most(count.zones),
                resolvers=_most(count.resolvers),
                codes=_most(count.codes),
                schemes=_most(count.schemes),
                streams=count.streams,
                mails=count.mails,
                subrequests=count.subrequests,
            )
            for (row, _), count in self._counts.items()
            if count.number or row not in counted
        )

    def unknown(self) -> Unknown:
        """Return the messages without a row."""
        return Unknown(number=self._unknown, examples=tuple(self._examples.values()))


def _most(names: dict[str, int]) -> dict[str, int]:
    return dict(Counter(names).most_common())
