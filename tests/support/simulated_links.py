"""Simulated links: random numbers decide what happens to probes; the results have the form of a leading agent's.

The host may be busy; then the sender and the shaper stop for a while.
"""

import itertools

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.path import PROBE_HEADERS_BYTES
from tuneproof.lab.protocol.links import PathSeen

PAYLOAD_BYTES = 64
FRAME_BYTES = PAYLOAD_BYTES + PROBE_HEADERS_BYTES
_INTERVAL_MS = 2.0
_WITHIN_MS = 8000
# The time that the hosts at both ends add to a probe's travel time in one direction.
_HOST_MS = 0.05
_LOAD_MS = 400.0
_LOADED_FRAME_BYTES = 1514
_QUEUE_FRAMES = 200

Times = NDArray[np.float64]


class Gaps:
    """Gaps in which the host's CPU does other work: their lengths are log-normal, the times between them exponential.

    share: the share of the time that is lost. median_ms: a gap's median length.
    """

    def __init__(self, rng: Generator, *, share: float, median_ms: float = 1.3) -> None:
        if not share:
            self._begins = self._ends = np.array([np.inf])
            return
        lengths = rng.lognormal(np.log(median_ms), 0.8, int(2 * _WITHIN_MS / median_ms))
        pauses = rng.exponential(lengths.mean() * (1 - share) / share, len(lengths))
        self._ends = np.cumsum(pauses + lengths)
        self._begins = self._ends - lengths

    def after(self, at_ms: Times) -> Times:
        """Return the times at which the CPU is available for events that are due at these times."""
        index = np.minimum(np.searchsorted(self._ends, at_ms, side="right"), len(self._ends) - 1)
        return np.where(self._begins[index] <= at_ms, self._ends[index], at_ms)


QUIET = (0.0, 1.3)
"""The share of the time that is lost, and the median length of a gap in ms."""
over_noise = pytest.mark.parametrize(
    "noise",
    [
        pytest.param(QUIET, id="quiet"),
        pytest.param((0.2, 1.3), id="a-fifth-lost", marks=pytest.mark.slow),
        pytest.param((0.33, 4.0), id="a-third-lost-in-long-gaps"),
    ],
)


def measured(profile: LinkProfile, rng: Generator, *, packets: int, noise: tuple[float, float] = QUIET) -> PathSeen:
    """Return a leading agent's result for a link that matches its profile exactly."""
    share, median_ms = noise
    gaps = Gaps(rng, share=share, median_ms=median_ms)
    planned_ms = np.arange(packets, dtype=np.float64) * np.float64(_INTERVAL_MS)
    sent_ms = gaps.after(planned_ms)
    there, there_ms = _travel(sent_ms, profile.egress, rng, gaps)
    back, back_ms = _travel(there_ms, profile.ingress, rng, gaps)
    numbers = there[back]
    return PathSeen(
        sent=packets,
        late=tuple(_us(sent_ms - planned_ms)),
        there=tuple(zip(there.tolist(), _us(there_ms - sent_ms[there]), strict=True)),
        back=tuple(zip(numbers.tolist(), _us(back_ms - there_ms[back]), _us(back_ms - sent_ms[numbers]), strict=True)),
        loads={
            name: loaded(way.rate_mbit, Gaps(rng, share=share, median_ms=median_ms), delay_ms=way.delay_ms)
            for name, way in profile.directions.items()
            if way.rate_mbit
        },
    )


def loaded(
    rate_mbit: float, gaps: Gaps, *, delay_ms: float = 0.0, host_mbit: float = float("inf"), offered: float = 1.1
) -> tuple[tuple[int, int], ...]:
    """Return the bytes that have arrived over a link with this rate at each time, in the form of load_path.py.

    offered: the sent rate as a multiple of the link's; frames that do not fit into the queue are dropped. At the
    beginning, the queue is full if more is offered than the link carries.
    """
    frame_ms, slowest_ms = (_LOADED_FRAME_BYTES * 8 / (mbit * 1000) for mbit in (rate_mbit, min(rate_mbit, host_mbit)))
    frames = int(1.5 * _LOAD_MS * offered / frame_ms) + 2 * _QUEUE_FRAMES
    first = _QUEUE_FRAMES if offered > 1 else 0
    sent_ms = gaps.after(np.maximum(0, np.arange(frames) - first) * (frame_ms / offered))
    due_ms: list[float] = []
    for at_ms in sent_ms.tolist():
        last_ms = due_ms[-1] if due_ms else 0.0
        if last_ms - at_ms < _QUEUE_FRAMES * slowest_ms:
            due_ms.append(max(at_ms, last_ms) + slowest_ms)
    arrived_ms = gaps.after(np.array(due_ms) + delay_ms) + _HOST_MS
    reads_ms = np.arange(100.0, 100.0 + _LOAD_MS, 0.7)
    counts = np.searchsorted(np.sort(arrived_ms), reads_ms, side="right")
    grown = np.flatnonzero(np.diff(counts)) + 1
    at_ms, arrived = reads_ms[grown], counts[grown]
    return tuple(zip(_us(at_ms - at_ms[0]), ((arrived - arrived[0]) * _LOADED_FRAME_BYTES).tolist(), strict=True))


def _travel(sent_ms: Times, way: Impairment, rng: Generator, gaps: Gaps) -> tuple[NDArray[np.int64], Times]:
    """Return the packets that arrive and their times, in order of arrival; chance decides on each copy separately.

    The shaper needs the CPU to take a packet, and again to release it.
    """
    copies = 1 + (rng.random(len(sent_ms)) < way.duplicate_pct / 100)
    index = np.repeat(np.arange(len(sent_ms)), copies)
    index = index[rng.random(len(index)) >= way.loss_pct / 100]
    index = index[rng.random(len(index)) >= way.corrupt_pct / 100]
    delay_ms = way.delay_ms + rng.uniform(-1, 1, len(index)) * way.jitter_ms
    delay_ms[rng.random(len(index)) < way.reorder_pct / 100] = 0
    due_ms = gaps.after(sent_ms[index]) + delay_ms
    if way.rate_mbit:
        frame_ms = FRAME_BYTES * 8 / (way.rate_mbit * 1000)
        # Packets pass one after the other; waiting ones keep their order.
        passed_ms = itertools.accumulate(due_ms.tolist(), lambda last, due: max(last, due) + frame_ms, initial=0.0)
        due_ms = np.array([*passed_ms][1:])
    arrived_ms = gaps.after(due_ms) + _HOST_MS
    order = np.argsort(arrived_ms, kind="stable")
    return index[order], arrived_ms[order]


def _us(durations_ms: Times) -> list[int]:
    return list(map(int, (durations_ms * 1000).tolist()))
