"""Counting trials: most start their own nginx; they send a few requests, and count what happens."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuneproof.lab.load.base import Load, Metric, Observation, Outcome, host_figures
from tuneproof.lab.load.rig import ClientCall, Rig
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.subject.config import RECORDER_PATH

Figures = Mapping[str, float]
"""What a trial counted, by names with units, such as "upstream_connects"."""


@dataclass(frozen=True, kw_only=True)
class CountedObservation(Observation):
    """The counts of a trial."""

    figures: Figures

    def __getitem__(self, name: str) -> float:
        return self.figures[name]


@dataclass(frozen=True, kw_only=True)
class CountedRecord:
    """The counts of a trial, and the calls to the client with their responses."""

    figures: Figures
    seen: tuple[ClientCall, ...]


@dataclass(frozen=True, kw_only=True)
class Counted(Load[CountedRecord, CountedObservation]):
    """A trial that counts, usually on its own nginx."""

    configuration: str = ""  # name of its configuration; empty if nginx runs as long as the lab
    script: Callable[[Rig], Figures]  # runs the trial and returns its counts
    workers: int = 1  # how many workers must have started before the script runs
    counts_calls: bool = False  # whether nginx's system calls are counted, which slows them
    starts: bool = True  # whether nginx is started: not if the configuration is only tested, or nginx already runs

    def run(self, stage: Stage, *, label: str) -> Outcome[CountedRecord]:  # noqa: ARG002 - sends no label
        """Start nginx, run the script, stop nginx; without ``starts``, only run the script.

        Raises VoidTrialError: the script waited too long, or a precondition of its counts was not met. Raises LabError:
        nginx does not start, or a job failed.
        """
        rig = Rig(stage, configuration=self.configuration)
        if self.starts:
            stage.supervisor.start(self.configuration, library=RECORDER_PATH if self.counts_calls else "")
        try:
            if self.starts:
                rig.settle(self.workers)
            figures = dict(self.script(rig))
        finally:
            if self.starts:
                stage.supervisor.stop()
        return Outcome(record=CountedRecord(figures=figures, seen=tuple(rig.seen)), measuring_s=rig.measured_s)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The trial's configuration, if it has one."""
        return (self.configuration,) if self.configuration else ()

    def observe(self, outcome: Outcome[CountedRecord]) -> CountedObservation:
        """Return the observation of a trial."""
        return CountedObservation(**host_figures(outcome), figures=outcome.record.figures)

    def metrics(self, observations: Sequence[CountedObservation]) -> dict[str, Metric]:
        """Return the median of every figure over the trials."""
        names = observations[0].figures if observations else ()
        medians = {name: statistics.median(item[name] for item in observations) for name in names}
        return {"trials": len(observations), **medians}
