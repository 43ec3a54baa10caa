"""Conditions that every result must meet. A contradictory result is a failure, and so is one that cannot be shown."""

import math
from collections import Counter
from collections.abc import Iterable

from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.records import Side
from tuneproof.explain.parse.figures import MOST_FIGURES, Figure
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.load_tools.run import figures as load_figures


class ContradictionError(Exception):
    """A result that contradicts itself."""


def require(holds: bool, what: str) -> None:  # noqa: FBT001 - like an assertion, but not removed by python -O
    if not holds:
        raise ContradictionError(what)


def check_figures(figures: Iterable[Figure]) -> None:
    """Require that figures can be displayed and looked up."""
    known = tuple(figures)
    keys = Counter((figure.key, figure.of) for figure in known)
    twice = [key for key, times in keys.items() if times > 1]
    require(not twice, f"figures with the same key: {twice}")
    require(len(known) <= MOST_FIGURES, f"{len(known)} figures")
    for figure in known:
        figure.name.encode()
        if isinstance(figure.value, str):
            figure.value.encode()
        elif figure.value is not None:
            require(math.isfinite(figure.value) and figure.value >= 0, f"{figure.name}: {figure.value}")


def check_capture(summary: CaptureSummary) -> None:
    others = sum(summary.other.values()) + sum(summary.malformed.values())
    accounted = summary.tcp_segments + summary.quic_datagrams + others
    require(accounted == summary.packets, f"{accounted} of {summary.packets} packets")
    for each in summary.quic:
        require(each.established <= each.answered, f"{each}")
        require(each.unreachable <= each.unanswered, f"{each}")
        require(each.answered + each.unanswered + each.unanswered_after_retry <= each.connections, f"{each}")
        require(max(each.retried, each.negotiated) <= each.connections, f"{each}")
    sides = [side for each in summary.services for side in (each.from_client, each.from_server)]
    for side in sides:
        require(_is_consistent(side), f"{side}")
    for service in summary.services:
        answered = service.response_s.count if service.response_s else 0
        require(answered <= service.requests, f"{answered} responses to {service.requests} requests")


def check_run(run: LoadRun) -> None:
    check_figures(load_figures(run))
    require(run.failed_share is None or 0 <= run.failed_share <= 1, f"a share of {run.failed_share}")


def _is_consistent(side: Side) -> bool:
    return (
        0 <= side.retransmitted_segments + side.out_of_order_segments <= side.data_segments <= side.packets
        and side.suspected_copies <= side.retransmitted_segments
        and side.zero_window_s >= 0
    )
