"""Lost packets: an interface's, by ip -s link, and those on the way to a host, by mtr --report."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

INTERFACES: Final = r"^ +RX: +bytes +packets +errors +dropped"
MTR_REPORT: Final = r"^HOST: .* Loss% +Snt\b"
_HEADER: Final = re.compile(MTR_REPORT)
_INTERFACE: Final = re.compile(r"\d+: ([^\s:@]{1,40})(?:@\S+)?: <")
_COLUMNS: Final = re.compile(r" +(RX|TX): +(bytes +packets +errors .*)")
_NUMBERS: Final = re.compile(r" +\d{1,20}(?: +\d{1,20})+ *")
# Dropped packets do not count: most of them are of a protocol that the host does not use.
_LOST: Final = {
    "RX errors": "packets that {} received were bad (RX errors)",
    "RX missed": "packets to {} were lost because its buffers were full (RX missed)",
    "RX overrun": "packets to {} were lost because its buffers were full (RX overrun)",
    "TX errors": "packets that {} should have sent were lost (TX errors)",
}
_HOP: Final = re.compile(
    r" {0,9}\d{1,3}\.(?:\|--)? {1,9}(\S.{0,254}?) {1,99}(\d{1,3}(?:\.\d{1,4})?)%? {1,9}(\d{1,9})\b"
)
_UNKNOWN_HOP: Final = "???"


@dataclass(frozen=True, kw_only=True)
class PacketLoss:
    """Packets of one kind, and how many of them were lost."""

    what: str  # the kind and what happened, as the end of a sentence that begins with the numbers
    lost: int
    of: int
    would_decide: str = ""  # further evidence about the cause, with its command


def interfaces(text: str) -> tuple[PacketLoss, ...]:
    """Read the lost packets of each interface; several readings give those from the first to the last.

    Raises MalformedEvidenceError: There are no counters.
    """
    readings: dict[str, list[Mapping[str, int]]] = {}
    name, direction, columns = "", "", list[str]()
    for line in text.split("\n"):
        if (interface := _INTERFACE.match(line)) is not None:
            name, columns = interface[1], []
        elif (header := _COLUMNS.match(line)) is not None:
            direction, columns = header[1], header[2].split()
        elif name and columns and _NUMBERS.fullmatch(line.rstrip("\r")):
            values = {f"{direction} {column}": int(word) for column, word in zip(columns, line.split(), strict=False)}
            if direction == "RX":
                readings.setdefault(name, []).append(values)
            elif name in readings:
                readings[name][-1] = {**readings[name][-1], **values}
            columns = []
    if not readings:
        raise MalformedEvidenceError("expected an interface with counters, such as ip -s link prints")
    return tuple(loss for name, read in readings.items() for loss in _of_interface(name, read))


def _of_interface(name: str, read: list[Mapping[str, int]]) -> Iterator[PacketLoss]:
    first, last = read[0], read[-1]
    # The counters of a new interface with the same name begin at zero.
    is_interval = len(read) > 1 and all(last.get(column, 0) >= value for column, value in first.items())
    since = "between the first and the last reading" if is_interval else "since its counters began"
    for column, what in _LOST.items():
        lost, packets = (
            last.get(each, 0) - (first.get(each, 0) if is_interval else 0) for each in (column, f"{column[:2]} packets")
        )
        if lost:
            again = "" if is_interval else "ip -s link, twice, a minute apart: are there more?"
            yield PacketLoss(what=f"{what.format(name)} {since}", lost=lost, of=packets + lost, would_decide=again)


def mtr_report(text: str) -> tuple[PacketLoss, ...]:
    """Read the loss at the last hop of each report: loss only at hops before it is their limit on ICMP answers.

    Raises MalformedEvidenceError: There is no hop.
    """
    last_hops: list[re.Match[str] | None] = []
    for line in text.split("\n"):
        if _HEADER.match(line):
            last_hops.append(None)
        elif last_hops and (hop := _HOP.match(line)) is not None:
            last_hops[-1] = hop
    if not any(last_hops):
        raise MalformedEvidenceError("expected the hops of mtr --report")
    return tuple(_of_hop(hop[1].split()[-1].strip("()"), float(hop[2]), int(hop[3])) for hop in last_hops if hop)


def _of_hop(host: str, percent: float, sent: int) -> PacketLoss:
    if host == _UNKNOWN_HOP:
        # Nobody knows whether the last hop got the probes.
        return PacketLoss(what="probes to the last hop, which answers none", lost=0, of=sent)
    return PacketLoss(
        what=f"probes to {host}, mtr's last hop, got no answer: packets are lost, or it answers only some of them",
        lost=round(percent / 100 * sent),
        of=sent,
        would_decide=f"mtr --report --tcp --port PORT {host}: a TCP port answers every probe",
    )


def figures(losses: tuple[PacketLoss, ...]) -> tuple[Figure, ...]:
    """Return the figures of lost packets."""
    shown = (Figure(key="lost_packets", name=loss.what, value=f"{loss.lost} of {loss.of}") for loss in losses)
    return tuple(shown) or (Figure(key="lost_packets", name="lost packets", value=0),)
