"""Trials that count: an nginx of their own, a few requests, and what came of them."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuneproof.lab.load.base import Load, Metric, Observation, Outcome, host_figures
from tuneproof.lab.load.rig import Rig, Told
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.subject.config import CALLS_LIBRARY_PATH

Figures = Mapping[str, float]
"""What a trial counted, by names with units, such as "upstream_connects"."""


@dataclass(frozen=True, kw_only=True)
class CountedObservation(Observation):
    """What a trial counted.

    Attributes:
        figures: By name.
    """

    figures: Figures

    def __getitem__(self, name: str) -> float:
        return self.figures[name]


@dataclass(frozen=True, kw_only=True)
class CountedRecord:
    """What a trial counted, and what it is counted from.

    Attributes:
        figures: By name.
        seen: What the client was asked, and told.
    """

    figures: Figures
    seen: tuple[Told, ...]


@dataclass(frozen=True, kw_only=True)
class Counted(Load[CountedRecord, CountedObservation]):
    """A trial with an nginx of its own.

    Attributes:
        configuration: Name of its configuration, among those of its subject; empty where nginx runs as long as the lab.
        script: Does what the trial does, and returns what it counted.
        workers: How many workers must have started before.
        counts_calls: Whether the system calls of nginx are counted: they take longer then, so times are for others.
        starts: Whether nginx is started; not where a configuration is only tested, or runs anyway.
    """

    configuration: str = ""
    script: Callable[[Rig], Figures]
    workers: int = 1
    counts_calls: bool = False
    starts: bool = True

    def run(self, stage: Stage, *, label: str) -> Outcome[CountedRecord]:  # noqa: ARG002 - the log is the trial's own
        """Start nginx, run the script, end nginx.

        Raises:
            LabError: nginx does not start, or a job failed.
        """
        rig = Rig(stage, configuration=self.configuration)
        began_s = time.monotonic()
        if self.starts:
            stage.supervisor.start(self.configuration, library=CALLS_LIBRARY_PATH if self.counts_calls else "")
        try:
            if self.starts:
                rig.settle(self.workers)
            figures = dict(self.script(rig))
        finally:
            if self.starts:
                stage.supervisor.stop()
        record = CountedRecord(figures=figures, seen=tuple(rig.seen))
        return Outcome(record=record, measuring_s=time.monotonic() - began_s)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The one configuration."""
        return (self.configuration,) if self.configuration else ()

    def observe(self, outcome: Outcome[CountedRecord]) -> CountedObservation:
        """Return the observation of a trial."""
        return CountedObservation(**host_figures(outcome), figures=outcome.record.figures)

    def metrics(self, observations: Sequence[CountedObservation]) -> dict[str, Metric]:
        """Return the median of every figure over the trials."""
        names = observations[0].figures if observations else ()
        medians = {name: statistics.median(item[name] for item in observations) for name in names}
        return {"trials": len(observations), **medians}
