"""Lost packets are read from ip -s link and mtr --report."""

from collections.abc import Callable

import pytest

from tests.support.canned_evidence import seen
from tests.support.evidence_samples import SAMPLES
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.parse.packet_losses import figures, interfaces, mtr_report
from tuneproof.explain.parse.problems import MalformedEvidenceError

ONCE = SAMPLES[Kind.INTERFACES]
MTR = SAMPLES[Kind.MTR]
UNKNOWN = "  4.|-- ???                       100.0   100    0.0   0.0   0.0   0.0   0.0\n"


def counted(text: str) -> list[tuple[int, int, str]]:
    return [(loss.lost, loss.of, loss.what) for loss in interfaces(text)]


def test_bad_missed_and_unsent_packets_of_an_interface_are_lost_but_not_dropped_ones() -> None:
    """The kernel drops packets of protocols that the host does not use."""
    assert counted(ONCE.replace("\n", "\r\n")) == [
        (100, 10_000, "packets that eth0 received were bad (RX errors) since its counters began"),
        (300, 10_200, "packets to eth0 were lost because its buffers were full (RX missed) since its counters began"),
        (50, 10_000, "packets that eth0 should have sent were lost (TX errors) since its counters began"),
    ]
    assert counted(ONCE.replace(" missed", "overrun").replace("eth0", "veth1@if7"))[1][2].startswith(
        "packets to veth1 were lost because its buffers were full (RX overrun)"
    )


def test_several_readings_of_an_interface_give_the_packets_between_them() -> None:
    later = ONCE.replace("9900    100", "9999    110")
    since = "between the first and the last reading"
    assert counted(ONCE + later) == [(10, 109, f"packets that eth0 received were bad (RX errors) {since}")]
    assert counted(later + ONCE) == counted(ONCE)
    assert counted(ONCE + later.replace("eth0", "eth1"))[:3] == counted(ONCE)


def test_only_a_loss_at_the_last_hop_is_a_loss() -> None:
    """Hops on the way limit their ICMP answers. A last hop that never answers shows nothing."""
    (loss,) = mtr_report(MTR)
    assert (loss.lost, loss.of) == (10, 100)
    (loss,) = mtr_report(MTR.replace("app.example  ", "app.example (198.51.100.7)"))
    assert loss.what.startswith("probes to 198.51.100.7, mtr's last hop, got no answer: ")
    (loss,) = mtr_report(MTR.replace("|--", "").replace("app.example", "AS64500 198.51.100.7"))
    assert (loss.lost, loss.what.split()[2]) == (10, "198.51.100.7,")
    (unknown,) = mtr_report(MTR + UNKNOWN)
    assert unknown.lost == 0
    assert [loss.lost for loss in mtr_report(MTR + MTR.replace("10.0%", " 0.0%"))] == [10, 0]


@pytest.mark.parametrize(
    ("text", "symptoms"),
    [
        (ONCE, 1),
        (ONCE.replace(" 100 ", " 900 "), 2),
        (MTR, 1),
        (MTR.replace("10.0%", "4.0%"), 1),
        (MTR.replace("10.0%", "3.0%"), 0),
        (MTR + UNKNOWN, 0),
    ],
)
def test_a_loss_that_users_notice_is_a_symptom(text: str, symptoms: int) -> None:
    losses = (mtr_report if text.startswith("Start") else interfaces)(text)
    assert len(diagnose(seen(losses)).symptoms) == symptoms


def test_the_figures_are_the_lost_packets() -> None:
    assert [figure.value for figure in figures(mtr_report(MTR))] == ["10 of 100"]
    assert [figure.value for figure in figures(interfaces(ONCE))][:1] == ["100 of 10000"]


@pytest.mark.parametrize("parse", [interfaces, mtr_report])
def test_a_header_without_counters_is_malformed(parse: Callable[[str], object]) -> None:
    with pytest.raises(MalformedEvidenceError, match="expected"):
        parse(f"{ONCE.partition('RX')[0]}{MTR.partition('  1')[0]}")
