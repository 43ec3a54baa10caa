"""Measures the share of a CPU that this process does not get: it spins, and looks for jumps in the clock."""

import time

from tuneproof.lab.protocol.loadgen import Gaps

# Reading the clock takes well under a microsecond; a timer interrupt takes about ten.
_GAP_S = 0.0003


def run(seconds: float) -> Gaps:
    """Spin for a while; nothing else in the lab may run at the same time."""
    gaps_s = []
    began_s = last_s = time.monotonic()
    while last_s < began_s + seconds:
        now_s = time.monotonic()
        if now_s - last_s >= _GAP_S:
            gaps_s.append(now_s - last_s)
        last_s = now_s
    return Gaps(lost_pct=100 * sum(gaps_s) / (last_s - began_s), longest_ms=1000 * max(gaps_s, default=0.0))
