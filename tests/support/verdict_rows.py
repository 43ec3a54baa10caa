"""Rows of evidence with the expected verdict on one cause, for tests/unit/explain/diagnosis/test_*_verdicts.py."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from tests.support.canned_evidence import capture, listening, log, lossy, repeated_syns, seen, service, spread, table
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import CauseAssessment, CauseVerdict
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.error_log import ErrorLog, Event

FOUND, POSSIBLE, RARE = CauseVerdict.FOUND, CauseVerdict.POSSIBLE, CauseVerdict.RARE
RULED_OUT, NOT_SEEN = CauseVerdict.RULED_OUT, CauseVerdict.NOT_SEEN
Assess = Callable[[EvidenceSet], CauseAssessment]
Rows = Mapping[Assess, Sequence[tuple[str, EvidenceSet, CauseVerdict, tuple[str, ...]]]]


def row(name: str, verdict: CauseVerdict, *parts: Any) -> tuple[str, EvidenceSet, CauseVerdict, tuple[str, ...]]:
    """Return one case; ``parts`` are evidence, and expected lines such as "against 1: short of CPU"."""
    said = tuple(part for part in parts if isinstance(part, str))
    return name, seen(*(part for part in parts if not isinstance(part, str))), verdict, said


def error_log_with(event: Event, number: int, *upstreams: str) -> ErrorLog:
    """Return an error log with this many messages about one event, and with as many for each of these upstreams."""
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return ErrorLog(
        messages=number,
        levels={"error": number},
        events={event: number},
        upstreams={event: dict.fromkeys(upstreams, number)},
        workers_left=(),
        first=at,
        last=at,
    )


def check(assess: Assess, given: EvidenceSet, verdict: CauseVerdict, said: tuple[str, ...]) -> None:
    """Compare an assessment with a row: its verdict, parts of its numbered reasons, and ``touched``."""
    found = assess(given)
    assert found.verdict is verdict
    # Causes are sorted by the share of requests, connections or segments that they affected; 0 if it is unknown.
    assert [reason for reason in found.for_ if not 0 <= reason.touched <= 1] == []
    lines = [
        *(f"for {at}: {each.text} [{each.file}]" for at, each in enumerate(found.for_, start=1)),
        *(f"against {at}: {each.text} [{each.file}]" for at, each in enumerate(found.against, start=1)),
        *(f"decides {at}: {each}" for at, each in enumerate(found.would_decide, start=1)),
        f"touched: {found.touched:.3g}",
    ]
    for each in said:
        place, _, words = each.partition(": ")
        assert any(line.startswith(f"{place}: ") and words in line for line in lines), lines


AT_THE_CLIENT: Final[dict[str, Any]] = {"syn_to_synack_s": spread(0.0005), "synack_to_ack_s": spread(0.00001)}

AT_THE_SERVER: Final[dict[str, Any]] = {"synack_to_ack_s": spread(0.02)}

SYNS_AGAIN_AT_CLIENT: Final = service(**repeated_syns(), **AT_THE_CLIENT)

# These SYNs arrived at the server, so the path did not lose them; counters show which queue dropped them.
SYNS_AGAIN_AT_SERVER: Final = service(**repeated_syns(), **AT_THE_SERVER)

# A server with a full queue drops the handshake's last ACK and the request after it, and sends its SYN/ACK again.
UNHEARD: Final = capture(
    service(
        **lossy(
            from_client=Side(packets=500, data_segments=240, retransmitted_segments=40),
            from_server=Side(packets=500, data_segments=300),
        ),
        **repeated_syns(synack_retransmitted_flows=40),
    )
)

ALONE: Final = table(listening())

LATE: Final = spread(0.001, 0.3)

# A queue dropped a SYN without an answer, or the path lost it; a client cannot distinguish the two.
ALIKE: Final = [
    row(
        "SYNs again at the client",
        POSSIBLE,
        "for 1: 40 of 200 connections to 10.0.0.2:8000 retransmitted their SYN after 1.0 s",
        "decides 1: ",
        SYNS_AGAIN_AT_CLIENT,
    ),
    row("connects of 300 ms", NOT_SEEN, log(connect_time_s=spread(0.001, 0.3))),
    row("connects of 1 s", POSSIBLE, log(connect_time_s=spread(0.001, 1.02))),
]


def rows_of(cases: Rows) -> pytest.MarkDecorator:
    """Return a mark that runs a test with every row of every cause."""
    return pytest.mark.parametrize(
        ("assess", "given", "verdict", "said"),
        [
            pytest.param(assess, *case[1:], id=f"{assess.__module__.rpartition('.')[2]}.{assess.__name__}: {case[0]}")
            for assess, rows in cases.items()
            for case in rows
        ],
    )
