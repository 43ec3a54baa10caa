"""What trials of messages of the error log do: provoke one, and count its lines once nginx has come to rest."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from tuneproof.catalogue.error_messages_rows import Provocation
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.protocol.messages import call
from tuneproof.lab.protocol.scripted import Scripted

BACKEND: Final = "backend"
_FIRST_ERROR: Final = 400

Went = tuple[str, int]
"""What a trial leaves behind: the text that nginx wrote, and how many requests failed."""


def counting(pattern: str, asked: tuple[Provocation]) -> Callable[[Rig], Figures]:
    """Return the script: provoke a message, and count the lines that it matches."""
    does = SCRIPTS[asked[0].does]

    def script(rig: Rig) -> Figures:
        (provocation,) = asked
        rig.backend(call(Scripted.fault, provocation.fault.says, provocation.fault.then), name=BACKEND)
        text, failed = does(rig, provocation, pattern)
        lines = sum(bool(re.search(pattern, line)) for line in text.splitlines())
        return {"lines": lines, "appears": float(lines > 0), "ended": float(not lines and not failed)}

    return script


def _asks(rig: Rig, provocation: Provocation, _pattern: str) -> Went:
    """Ask; those that stay leave once all others have been answered."""
    done = rig.flows(*provocation.asks, port=provocation.port)
    rig.rest()
    return rig.error_log(), sum(answer.status >= _FIRST_ERROR for flow in done for answer in answers_of(flow))


def _asks_at_once(rig: Rig, provocation: Provocation, _pattern: str) -> Went:
    """Ask while the worker stands still, so that it meets all requests in one iteration of its event loop."""
    done = rig.flows_behind_stopped_workers(*provocation.asks)
    rig.rest()
    return rig.error_log(), sum(answer.status >= _FIRST_ERROR for flow in done for answer in answers_of(flow))


def _asks_until_written(rig: Rig, provocation: Provocation, pattern: str) -> Went:
    """Let clients stay until the message is there."""
    with rig.standing(*provocation.asks):
        rig.wait_until(lambda: bool(re.search(pattern, rig.error_log())), "did not write the message")
    return rig.error_log(), 0


def _asks_by_http2(rig: Rig, provocation: Provocation, _pattern: str) -> Went:
    """Ask on one connection of HTTP/2."""
    (flow,) = provocation.asks
    statuses = rig.http2(flow.requests, port=provocation.port, path=flow.path)
    rig.rest()
    return rig.error_log(), sum(not 0 < status < _FIRST_ERROR for status in statuses)


def _tests(rig: Rig, _provocation: Provocation, _pattern: str) -> Went:
    """Let nginx test the configuration."""
    said = rig.test()
    return said.text, said.status


def _starts_another(rig: Rig, _provocation: Provocation, _pattern: str) -> Went:
    """Start a second nginx with the same configuration."""
    return rig.start_another(), 0


def _signals(signal: str, rig: Rig, provocation: Provocation, _pattern: str) -> Went:
    """End the worker by a signal, and ask its successor."""
    rig.kill_workers(signal)
    done = rig.flow(Flow(close=True))
    rig.rest()
    return rig.error_log(), sum(answer.status >= _FIRST_ERROR for answer in answers_of(done))


SCRIPTS: Final[Mapping[str, Callable[[Rig, Provocation, str], Went]]] = MappingProxyType(
    {
        "asks": _asks,
        "asks at once": _asks_at_once,
        "asks until written": _asks_until_written,
        "asks by HTTP/2": _asks_by_http2,
        "tests": _tests,
        "starts another": _starts_another,
        **{signal: partial(_signals, signal) for signal in ("KILL", "SEGV", "ABRT", "ILL", "QUIT")},
    }
)
"""How a trial goes, by a row's ``does``."""
