"""Clients of which some leave before their answer is there, though answers come fast."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuneproof.lab.load.base import Load, TrialRecord, machine_figures
from tuneproof.lab.load.exchanges import Connection, Flow, answers_of
from tuneproof.lab.load.stage import Stage


@dataclass(frozen=True, kw_only=True)
class DepartureObservation(TrialRecord):
    """What became of the clients.

    Attributes:
        answered: Clients that stayed and got their answer.
        left: Clients that left without.
    """

    answered: int
    left: int

    @property
    def faults(self) -> tuple[str, ...]:
        """Where nobody left, or nobody stayed, the trial shows nothing."""
        return () if self.answered and self.left else (f"{self.answered} clients stayed, {self.left} left",)


@dataclass(frozen=True, kw_only=True)
class ImpatientClients(Load[DepartureObservation]):
    """One crowd.

    Attributes:
        patient: Clients that wait for their answer, each on a connection of its own.
        impatient: Clients that leave, likewise.
        at_once: How many of each kind there are at a time.
        answer_ms: How long the backend takes.
        patience_s: How long those who leave stay.
    """

    patient: int = 120
    impatient: int = 30
    at_once: int = 4
    answer_ms: int = 40
    patience_s: float = 0.01

    def run(self, stage: Stage, *, label: str) -> dict[str, Any]:
        """Let both come at once."""
        path = f"/wait/{self.answer_ms}"
        flows = (
            Flow(connections=self.patient, at_once=self.at_once, path=path, close=True),
            Flow(connections=self.impatient, at_once=self.at_once, path=path, timeout_s=self.patience_s),
        )
        answer = stage.job(
            "exchanges", address=stage.address, port=stage.port, flows=[flow.to_json() for flow in flows]
        )
        return {**answer, "trial": label}

    def observe(self, raw: Mapping[str, Any]) -> DepartureObservation:
        """Return the observation of a crowd."""
        connections = [Connection.from_json(item) for flow in raw["flows"] for item in flow]
        answered = sum(answer.complete for answer in answers_of(connections))
        return DepartureObservation(
            trial=raw["trial"], **machine_figures(raw), answered=answered, left=len(connections) - answered
        )
