"""Scripts for trials that provoke an error-log message and count its lines."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from tuneproof.catalogue.error_messages_rows import Provocation
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Connection, Flow
from tuneproof.messages.patterns import find_one

BACKEND: Final = "backend"
_FIRST_ERROR: Final = 400
# The form of ngx_log_error_core()'s lines in a log, and on stderr while nginx starts or tests. Messages may contain
# line breaks that a client sent.
_ENTRY: Final = re.compile(
    r"^(?:nginx:|\d{4}/\S+ \S+) \[(?P<level>[a-z]+)\] (?:\d+#\d+: )?(?:\*\d+ )?"
    r"(?P<message>.*?)\s*(?=\Z|^nginx:|^\d{4}/)",
    re.MULTILINE | re.DOTALL,
)

Went = tuple[str, int]
"""The outcome of a trial: the text that nginx wrote, and how many requests failed (for `nginx -t`, its exit status)."""
Script = Callable[[Rig, Provocation], Went]


def lines_of(row: str, text: str) -> int:
    """Count nginx's lines that match a row of tuneproof.messages."""
    found = (find_one(" ".join(entry["message"].split()), entry["level"]) for entry in _ENTRY.finditer(text))
    return sum(message is not None and message.id == row for message in found)


def counting(row: str, asked: tuple[Provocation]) -> Callable[[Rig], Figures]:
    """Return the script: provoke a message, and count the lines that match a row of tuneproof.messages.

    The provocation is in a tuple, because a claim's registration ignores a dataclass that a function closes over.
    """
    does = SCRIPTS[asked[0].does]

    def script(rig: Rig) -> Figures:
        (provocation,) = asked
        rig.backend(BACKEND).fault(provocation.fault.says, provocation.fault.then)
        text, unanswered = does(rig, provocation)
        lines = lines_of(row, text)
        return {"lines": lines, "appears": float(lines > 0), "ended": float(not lines and not unanswered)}

    return script


def failed(asked: Iterable[Flow], results: Iterable[Iterable[Connection]]) -> int:
    """Return how many requests got no response, or a status of 400 or more; clients that stay need no response."""
    count = 0
    for flow, connections in zip(asked, results, strict=True):
        statuses = [answer.status for answer in answers_of(connections)]
        answered = sum(0 < status < _FIRST_ERROR for status in statuses)
        count += (len(statuses) if flow.stays else flow.connections * flow.requests) - answered
    return count


def _asks(rig: Rig, provocation: Provocation) -> Went:
    """Send requests; clients that stay leave once all others have been answered and nginx is idle."""
    with rig.standing(*provocation.asks, port=provocation.port) as results:
        if any(flow.stays for flow in provocation.asks):
            rig.rest()
    rig.rest()
    return rig.error_log(), failed(provocation.asks, results)


def _asks_until_left(rig: Rig, provocation: Provocation) -> Went:
    with rig.standing(*provocation.asks) as results:
        rig.wait_until(lambda: not rig.sockets().local.get("ESTAB"), "did not end its connections")
    rig.rest()
    return rig.error_log(), failed(provocation.asks, results)


def _asks_at_once(rig: Rig, provocation: Provocation) -> Went:
    """Send requests while the worker is stopped, so that it receives all of them in one loop iteration."""
    results = rig.flows_behind_stopped_workers(*provocation.asks)
    rig.rest()
    return rig.error_log(), failed(provocation.asks, results)


def _asks_by_http2(rig: Rig, provocation: Provocation) -> Went:
    (flow,) = provocation.asks
    statuses = rig.client.http2(*rig.at(provocation.port), flow.requests, flow.path)
    rig.rest()
    return rig.error_log(), sum(not 0 < status < _FIRST_ERROR for status in statuses)


def _tests(rig: Rig, _provocation: Provocation) -> Went:
    tested = rig.test()
    return tested.text, tested.status


def _starts_another(rig: Rig, _provocation: Provocation) -> Went:
    return rig.start_another(), 0


def _ends_worker(signal: str) -> Script:
    def trial(rig: Rig, provocation: Provocation) -> Went:
        rig.kill_workers(signal)
        results = rig.flows(*provocation.asks)
        rig.rest()
        return rig.error_log(), failed(provocation.asks, results)

    return trial


SCRIPTS: Final[Mapping[str, Script]] = MappingProxyType(
    {
        "asks": _asks,
        "asks at once": _asks_at_once,
        "asks until left": _asks_until_left,
        "asks by HTTP/2": _asks_by_http2,
        "tests": _tests,
        "starts another": _starts_another,
        **{signal: _ends_worker(signal) for signal in ("KILL", "SEGV", "ABRT", "ILL", "QUIT")},
    }
)
"""The script of a trial, by a row's ``does``."""
