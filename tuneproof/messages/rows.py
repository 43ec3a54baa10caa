"""The rows of the TOML files next to this module, as typed records.

A row has the wordings of one message. In them, ``<name>`` stands for any text, ``<n>`` for digits, ``<number>`` for a
whole number, ``<n+>`` for one above zero, ``<program>`` for one word, ``<function>`` for a function that reads or
writes a connection. ``(111: Connection refused)`` is a Linux error number with glibc's words; other systems have
another number, and musl and Windows other words: if either is the same, the row matches. ``<end>`` is the beginning
of nginx's own list of context (", client: ..."), or the line's end.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

FILES: Final = ("upstream", "client", "resources", "start", "stream", "applications", "backends", "kernel")
"""The order of the files: if several wordings match with equally many fixed characters, the first one decides."""
_VARIANTS: Final = ("in_stream", "in_mail", "in_fastcgi", "in_uwsgi", "in_scgi", "in_grpc", "in_memcached")
_KNOWN: Final = frozenset(
    {
        *_VARIANTS,
        *("id", "name", "levels", "words", "provoke", "unprovoked", "happened", "why", "first", "wrong", "confirm"),
        *("affects", "status", "follows", "problem", "page"),
    }
)


LEVELS: Final = "debug|info|notice|warn|error|crit|alert|emerg"
"""nginx's log levels, from the least to the most serious, as a regular expression."""


class Problem(StrEnum):
    """Whether a message means a problem for the service."""

    YES = "yes"
    SOMETIMES = "sometimes"
    NO = "no"  # it is normal, or concerns only strangers


@dataclass(frozen=True, kw_only=True)
class Words:
    """One wording of a message."""

    text: str
    since: str = ""  # the first version of nginx with this wording; empty for all known versions
    until: str = ""  # the last one
    again: bool = False  # whether the same event has another line, which is counted instead


@dataclass(frozen=True, kw_only=True)
class WrongAdvice:
    """Popular advice that does not help."""

    advice: str
    because: str


@dataclass(frozen=True, kw_only=True)
class Message:
    """A row: one message, and the facts about it. All texts are for readers."""

    id: str  # the same in every version
    area: str  # its file
    name: str  # what it means, as a headline
    words: tuple[Words, ...]
    levels: tuple[str, ...]  # nginx's log levels; empty for messages of other programs, and of nginx -t without a level
    problem: Problem
    happened: str  # one sentence
    why: str  # what provokes it
    first: str  # the remedy to try first
    wrong: tuple[WrongAdvice, ...]
    confirm: str  # a command or an observation that would confirm it
    affects: str  # who notices, and what they get
    statuses: tuple[int, ...] = ()  # nginx's status for such a request, if it is one of few
    follows: tuple[str, ...] = ()  # ids of messages that cause this one, if they are in the log, too
    page: str = ""  # the documentation's page with measurements
    provoke: str = ""  # what provokes it in a container
    unprovoked: str = ""  # why nothing in the lab provokes it; one of the two is set
    in_stream: "Message | None" = None  # the facts about connections in stream{} and mail{}, if different
    in_mail: "Message | None" = None  # the facts about connections in mail{}, if they differ from those in stream{}
    in_fastcgi: "Message | None" = None  # the facts about upstreams behind fastcgi_pass
    in_uwsgi: "Message | None" = None  # the facts about upstreams behind uwsgi_pass
    in_scgi: "Message | None" = None  # the facts about upstreams behind scgi_pass
    in_grpc: "Message | None" = None  # the facts about upstreams behind grpc_pass
    in_memcached: "Message | None" = None  # the facts about upstreams behind memcached_pass


def depends_on(row: Message) -> str:
    """Return what decides whether a message is a problem, for a row that is one only sometimes."""
    by_area = {"client": "how many there are, and from whom", "start": "what was intended"}
    return by_area.get(row.area, "how often it happens, and when")


@cache
def messages() -> Mapping[str, Message]:
    """Return all rows by id, in the order of the files."""
    rows = [_message(area, row) for area in FILES for row in _table(area)]
    by_id = {row.id: row for row in rows}
    if len(by_id) < len(rows):
        raise ValueError("two rows have the same id")
    return by_id


def _table(area: str) -> list[dict[str, Any]]:
    text = files(__package__).joinpath(f"{area}.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["message"]
    return rows


def _message(area: str, row: Mapping[str, Any]) -> Message:
    if unknown := row.keys() - _KNOWN:
        raise ValueError(f"{row['id']}: unknown keys {sorted(unknown)}")
    variants = {key: row[key] for key in _VARIANTS if key in row}
    plain = {key: value for key, value in row.items() if key not in variants}
    return Message(
        id=row["id"],
        area=area,
        name=row["name"],
        words=tuple(Words(**({"text": each} if isinstance(each, str) else each)) for each in row["words"]),
        levels=tuple(row.get("levels", ())),
        problem=Problem(row["problem"]),
        happened=row["happened"],
        why=row["why"],
        first=row["first"],
        wrong=tuple(WrongAdvice(**each) for each in row["wrong"]),
        confirm=row["confirm"],
        affects=row["affects"],
        statuses=tuple(row.get("status", ())),
        follows=tuple(row.get("follows", ())),
        page=row.get("page", ""),
        provoke=row.get("provoke", ""),
        unprovoked=row.get("unprovoked", ""),
        **{key: _message(area, {**plain, **own}) for key, own in variants.items()},
    )
