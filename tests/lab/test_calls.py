"""The counter of system calls agrees with nginx's own log of them, in trials with the same requests."""

import re
from typing import Final

import pytest

from fixtures.labs import Measure
from tuneproof.catalogue.counting import CountedClaim, Setting, arms_of, claims_from
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.config import ERROR_LOG_PATH
from tuneproof.lab.subject.written_config import written_config
from tuneproof.lines import Line
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.keys import Key

pytestmark = [pytest.mark.engine]

REQUESTS: Final = 20
# Lines about the results of calls in nginx's debug log (src/os/unix/ngx_linux_sendfile_chain.c, ngx_writev_chain.c, and
# src/event/ngx_event_accept.c); sendfile also has a line before the call.
LOGGED: Final = {"sendfile": r"sendfile: \d+ of ", "writev": r"writev: \d+ of ", "accept4": r"accept: "}
DEBUG: Final = written_config("sendfile on;", main=f"error_log {ERROR_LOG_PATH} debug;")


def counted_by_the_library(rig: Rig) -> Figures:
    calls = rig.calls(lambda: requests(rig))
    return {name: calls[name].made - calls[name].failed for name in LOGGED}


def counted_in_the_log(rig: Rig) -> Figures:
    before = rig.error_log()
    requests(rig)
    added = rig.error_log()[len(before) :]
    return {name: len(re.findall(pattern, added)) for name, pattern in LOGGED.items()}


def requests(rig: Rig) -> None:
    """Request a file, then a path without a file, each time on a new connection."""
    rig.flow(Flow(connections=REQUESTS, at_once=1, path="/16000.bin", close=True))
    rig.flow(Flow(connections=REQUESTS, at_once=1, path="/none", close=True))


def claim_on(call: str) -> CountedClaim:
    """Return the claim that the count of a call equals the number of nginx's log lines about it."""
    line = Line(
        scenario="calls",
        claim=f"{call}_is_counted",
        sentence=f"{call} is counted as often as nginx logs it",
        source="check of the measurement",
        arms=("library", "log"),
        figure=call,
        what=f"{call} calls",
        form="same",
        threshold=1.03,
        why="missed calls must be fewer than the calls that any line of a configuration saves",
    )
    return next(claims_from(line))


def test_the_library_counts_as_many_calls_as_the_debug_log_contains(nginx: str, measure: Measure) -> None:
    """The medians must be equal: a count that is off by one is wrong."""
    arms = arms_of(
        [
            Setting(name="library", config=DEBUG, script=counted_by_the_library, counts_calls=True),
            Setting(name="log", config=DEBUG, script=counted_in_the_log, counts_calls=True),
        ]
    )
    claims = tuple(claim_on(call) for call in LOGGED)
    scenario = Scenario(name="system_calls", arms=arms, claims=claims, backends=())
    lab = Key(scenario.name, "", nginx, BARE.name)
    with measure(lab, scenario, claims) as measures:
        cells = {call: measures.decide(claim) for call, claim in zip(LOGGED, claims, strict=True)}
    for call, cell in cells.items():
        assert cell.verdict == Verdict.HOLDS
        library, log = (cell.arms[name][call] for name in ("library", "log"))
        assert library == log
        assert log
