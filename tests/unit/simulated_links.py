"""Links that are not there: probes travel over them by random numbers, and are told as a leading agent tells them."""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fixtures.network.impairments import Impairment
from fixtures.network.links import LinkProfile
from fixtures.network.path import PROBE_HEADERS_BYTES

PAYLOAD_BYTES = 64
FRAME_BYTES = PAYLOAD_BYTES + PROBE_HEADERS_BYTES
_INTERVAL_MS = 2.0
# What the hosts at both ends take for a probe, each way.
_HOST_MS = 0.05


def measured(profile: LinkProfile, rng: Generator, *, packets: int) -> dict[str, Any]:
    """Return what a leading agent says of a link that does exactly what its profile says."""
    sent_ms = np.arange(packets, dtype=np.float64) * np.float64(_INTERVAL_MS)
    there, there_ms = _travel(sent_ms, profile.egress, rng)
    back, back_ms = _travel(there_ms, profile.ingress, rng)
    numbers = there[back]
    return {
        "sent": packets,
        "there": [[int(number), _us(at - sent_ms[number])] for number, at in zip(there, there_ms, strict=True)],
        "back": [
            [int(number), _us(at - there_ms[index]), _us(at - sent_ms[number])]
            for number, index, at in zip(numbers, back, back_ms, strict=True)
        ],
        "rates": {
            name: way.to_netem()["rate_bytes_per_s"] for name, way in profile.directions.items() if way.rate_mbit
        },
    }


def _travel(
    sent_ms: NDArray[np.float64], way: Impairment, rng: Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which packets arrive and when, in order of arrival; each copy of a packet meets its own fate."""
    copies = 1 + (rng.random(len(sent_ms)) < way.duplicate_pct / 100)
    index = np.repeat(np.arange(len(sent_ms)), copies)
    index = index[rng.random(len(index)) >= way.loss_pct / 100]
    index = index[rng.random(len(index)) >= way.corrupt_pct / 100]
    delay_ms = way.delay_ms + rng.uniform(-1, 1, len(index)) * way.jitter_ms
    delay_ms[rng.random(len(index)) < way.reorder_pct / 100] = 0
    if way.rate_mbit:
        delay_ms += FRAME_BYTES * 8 / (way.rate_mbit * 1000)
    arrived_ms = sent_ms[index] + delay_ms + _HOST_MS
    order = np.argsort(arrived_ms, kind="stable")
    return index[order], arrived_ms[order]


def _us(duration_ms: float) -> int:
    return int(duration_ms * 1000)
