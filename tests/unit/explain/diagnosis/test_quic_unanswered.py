"""Unanswered QUIC connections in a capture are a finding, if they are to nginx."""

import pytest

from tests.support.canned_evidence import BACK, FRONT, causes, quic, seen, service, verdict
from tuneproof.errors import BadInputError
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict, Diagnosis
from tuneproof.explain.diagnosis.render import rows, summary
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.quic import QuicService
from tuneproof.explain.parse.capture.records import Endpoint

SILENT = {"established": 0, "answered": 0}


def diagnosed(*found: QuicService, tcp: int = 0, selected: Endpoint | None = None) -> Diagnosis:
    services = (service(flows=tcp, handshakes={"complete": tcp}),) if tcp else ()
    return diagnose(seen(CaptureSummary(flows=tcp, services=services, quic=found)), selected)


def test_one_unanswered_client_is_found_if_the_capture_has_no_other() -> None:
    diagnosis = diagnosed(quic(connections=1, unanswered=1, **SILENT))
    assert causes(diagnosis) == [Cause.QUIC_UNANSWERED]
    assert diagnosis.found[0].for_[0].text == "1 of 1 QUIC connection to 10.0.0.2:8000 got no answer (100 %)."
    assert "listen ... quic" in summary(diagnosis)


def test_icmp_errors_and_silence_after_a_retry_are_reported() -> None:
    diagnosis = diagnosed(quic(connections=20, unanswered=9, unreachable=8, unanswered_after_retry=3, **SILENT))
    assert diagnosis.found[0].for_[0].text == (
        "12 of 20 QUIC connections to 10.0.0.2:8000 got no answer, 3 of them after a Retry; "
        "ICMP reported 8 as unreachable (60 %)."
    )
    assert diagnosis.found[0].touched == 0.6


def test_three_unanswered_attempts_among_many_tcp_connections_are_rare() -> None:
    diagnosis = diagnosed(quic(connections=3, unanswered=3, **SILENT), tcp=1000)
    assert causes(diagnosis) == []
    assert verdict(diagnosis, Cause.QUIC_UNANSWERED) is CauseVerdict.RARE
    assert [row.text for row in rows(diagnosis) if row.label == "Rare"] == [
        "QUIC unanswered: 3 of 3 QUIC connections to 10.0.0.2:8000 got no answer, against 1000 TCP connections."
    ]


@pytest.mark.parametrize(("established", "expected"), [(20, CauseVerdict.RULED_OUT), (19, CauseVerdict.NOT_SEEN)])
def test_enough_established_connections_rule_out_unanswered_quic(established: int, expected: CauseVerdict) -> None:
    diagnosis = diagnosed(quic(connections=40, established=established))
    assert verdict(diagnosis, Cause.QUIC_UNANSWERED) is expected


def test_connections_to_other_addresses_are_not_nginxs() -> None:
    """The machine may also be a QUIC client. Another port of nginx's address may be nginx's, too."""
    elsewhere = quic(BACK, connections=9, unanswered=9, **SILENT)
    assert causes(diagnosed(elsewhere, quic(), tcp=200)) == []
    other_port = quic(Endpoint(address=FRONT.address, port=443), connections=200, unanswered=200, **SILENT)
    assert causes(diagnosed(other_port, tcp=200)) == [Cause.QUIC_UNANSWERED]


def test_a_quic_service_can_be_selected() -> None:
    silent = quic(BACK, connections=9, unanswered=9, **SILENT)
    assert causes(diagnosed(silent, quic(), selected=BACK)) == [Cause.QUIC_UNANSWERED]
    assert causes(diagnosed(silent, quic(), selected=FRONT)) == []
    with pytest.raises(BadInputError, match="no capture contains connections"):
        diagnosed(silent, selected=FRONT)


def test_without_tcp_a_rarely_used_quic_service_is_left_out() -> None:
    few = quic(BACK, connections=1, unanswered=1, **SILENT)
    assert causes(diagnosed(few, quic(), quic(FRONT, connections=40))) == []
