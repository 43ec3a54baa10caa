"""What the claims of the reuseport stall read off a trial: pure functions on observations."""

import statistics
from collections.abc import Sequence
from typing import Final

from fixtures.inference.dose_response import page_trend
from fixtures.load.observation import FastRequest, Observation, percentile
from fixtures.scenario.claims import Condition

# A fast request is slow when it takes this many times the unloaded median of the same trial.
SLOW_FACTOR: Final = 5.0


def slow_share(observation: Observation) -> float:
    """Return the share of fast requests that failed, or took more than SLOW_FACTOR times the trial's unloaded median.

    Raises:
        ValueError: The trial had no fast requests, or no unloaded ones.
    """
    limit_ms = SLOW_FACTOR * median_total_ms(observation.baseline)
    if not observation.fast:
        raise ValueError("no fast request in the window")
    return statistics.fmean(request.total_ms > limit_ms or not request.complete for request in observation.fast)


def median_total_ms(requests: Sequence[FastRequest]) -> float:
    """Return the median duration in milliseconds.

    Raises:
        ValueError: There are no requests.
    """
    return percentile([request.total_ms for request in requests], 50)


def concordance(lags_ms: Sequence[float]) -> float:
    """Return the share of dose pairs in which the smaller dose had the smaller lag; chance gives one half.

    Args:
        lags_ms: Loop lag by dose, the largest dose first.
    """
    pairs = [(lags_ms[i], lags_ms[j]) for i in range(len(lags_ms)) for j in range(i + 1, len(lags_ms))]
    return statistics.fmean(smaller < larger for larger, smaller in pairs)


def monotone(lags_ms: Sequence[Sequence[float]]) -> Condition:
    """Return whether the lag falls with the dose in all blocks together, and at no step rises.

    Args:
        lags_ms: One row per block, one column per dose, the largest first.
    """
    trend = page_trend(lags_ms)
    steps = f"reversed between doses {trend.reversals}" if trend.reversals else "no step reversed"
    return Condition(met=trend.monotone, figures=f"Page's L = {trend.statistic:g}, p = {trend.p_value:.2g}, {steps}")


def stall(observation: Observation) -> float:
    """Return the median loop lag of worker 1 ÷ that of the idle worker beside it."""
    loaded, idle = observation.workers
    return loaded.lag_p50_ms / idle.lag_p50_ms


def loaded_lag_ms(observation: Observation) -> float:
    """Return the median loop lag of worker 1, which carries the bulk downloads of "one worker"."""
    return observation.workers[0].lag_p50_ms
