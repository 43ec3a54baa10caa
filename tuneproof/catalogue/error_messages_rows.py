"""Rows about error-log messages: what provokes each, what stops it, and popular advice that does not help.

The rows are in tuneproof/lines/error_messages/*.toml. A row's configuration consists of the parts of written_config; in
them, ``{certificate}`` is the lab's certificate, ``{backend}`` a server that answers every request, and ``{x*N}`` is x
repeated N times. In ``remedy`` and ``wrong`` (popular advice), ``is`` describes the change; the parts given there
replace the row's, and without any, ``is`` is a directive to add to the server.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.protocol.scripted import Then
from tuneproof.lab.subject.config import ERROR_LOG_PATH
from tuneproof.lab.subject.written_config import CERTIFICATE, written_config

_FOLDER: Final = "error_messages"
_LEFT_OUT: Final = "left_out.toml"
# Accepts all requests, with bodies of any size.
_BACKEND: Final = "server { listen 8010; client_max_body_size 0; location / { return 200 ok; } }"
_REPEATED: Final = re.compile(r"\{x\*(\d+)\}")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """How the backend's broken server behaves."""

    says: str
    then: Then = Then.CLOSES


@dataclass(frozen=True, kw_only=True)
class Provocation:
    """A configuration and a trial that provoke a message."""

    server: str = ""
    http: str = ""
    listen: str = ""
    main: str = ""
    events: str = "worker_connections 1024;"
    asks: tuple[Flow, ...] = (Flow(close=True),)  # what clients send
    port: int = 0  # port to which requests go; 0 for nginx's own
    fault: Fault = Fault(says="")
    does: str = "asks"  # the trial's script: a name in error_messages_scripts.SCRIPTS

    def config(self) -> str:
        """Return the text of nginx.conf; http{} logs everything at level info and above."""
        return written_config(
            self.server,
            http=f"error_log {ERROR_LOG_PATH} info;\nindex 1000.bin;\n{self.http}",
            listen=self.listen,
            main=self.main,
            events=self.events,
        )


@dataclass(frozen=True, kw_only=True)
class Change:
    """A recommendation for a message."""

    words: str
    name: str  # part of the claim's name
    provocation: Provocation  # the case's provocation with the change


@dataclass(frozen=True, kw_only=True)
class Case:
    """A message in the error log, provoked in one way."""

    id: str
    row: str  # the id of its row in tuneproof.messages
    when: str  # when nginx writes it
    provocation: Provocation
    remedy: Change
    wrong: Change | None = None
    since: str = ""  # the version of nginx that introduced the message
    module: str = ""  # the module that writes the message, if the lab's build of mainline lacks that module


@cache
def cases() -> tuple[Case, ...]:
    """Return the cases of all rows.

    Raises ValueError: a row has an unknown key or lacks a required one; the error names the row.
    """
    return tuple(_cases())


def left_out() -> Mapping[str, str]:
    """Return why messages that a container could provoke are left out, by their ids."""
    return dict(tomllib.loads(resources.files("tuneproof.lines").joinpath(_FOLDER, _LEFT_OUT).read_text())["left_out"])


def _cases() -> Iterator[Case]:
    for file in sorted(resources.files("tuneproof.lines").joinpath(_FOLDER).iterdir(), key=lambda file: file.name):
        for row in tomllib.loads(file.read_text(encoding="utf-8")).get("message", ()):
            try:
                yield _case(_expanded(row))
            except (TypeError, KeyError, MalformedMessageError) as error:
                raise ValueError(f"tuneproof/lines/{_FOLDER}/{file.name}, {row.get('id')}: {error}") from error


def _case(row: dict[str, Any]) -> Case:
    remedy, wrong = row.pop("remedy"), row.pop("wrong", None)
    own = {name: row.pop(name) for name in ("id", "when", "since", "module") if name in row}
    known = row.pop("message", own["id"])
    provocation = replace(Provocation(), **_parts(row))
    return Case(
        **own,
        row=known,
        provocation=provocation,
        remedy=_change(provocation, remedy),
        wrong=_change(provocation, wrong) if wrong else None,
    )


def _change(provocation: Provocation, row: dict[str, Any]) -> Change:
    words = row.pop("is")
    name = row.pop("name", re.split(r"[ ;]", words)[0])
    parts = _parts(row) or {"server": f"{words} {provocation.server}"}
    return Change(words=words, name=name, provocation=replace(provocation, **parts))


def _parts(row: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = dict(row)
    if "asks" in row:
        made["asks"] = tuple(from_plain(Flow, {"close": True, **flow}) for flow in row["asks"])
    if "fault" in row:
        made["fault"] = from_plain(Fault, row["fault"])
    return made


def _expanded(value: Any) -> Any:
    if isinstance(value, str):
        return _REPEATED.sub(
            lambda found: "x" * int(found[1]),
            value.replace("{certificate}", CERTIFICATE).replace("{backend}", _BACKEND),
        )
    if isinstance(value, dict):
        return {name: _expanded(item) for name, item in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value
