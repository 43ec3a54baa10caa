"""Clients, some of which leave before their response arrives, although responses are fast."""

from dataclasses import dataclass

from tuneproof.lab.load.base import Load, Observation, Outcome, host_figures, outcome_of
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.protocol.exchanges import Connection, Flow
from tuneproof.lab.topology.program import timed


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """What happened to both kinds' connections."""

    flows: tuple[tuple[Connection, ...], ...]


@dataclass(frozen=True, kw_only=True)
class DepartureObservation(Observation):
    """What happened to the clients."""

    answered: int  # clients that stayed and got their response
    left: int  # clients that left without one

    @property
    def faults(self) -> tuple[str, ...]:
        """A trial in which no client left, or none stayed, shows nothing."""
        return () if self.answered and self.left else (f"{self.answered} clients stayed, {self.left} left",)


@dataclass(frozen=True, kw_only=True)
class ImpatientClients(Load[Exchanged, DepartureObservation]):
    """The load of one trial."""

    patient: int = 120  # clients that wait for their response, each on its own connection
    impatient: int = 30  # clients that leave
    at_once: int = 4  # how many of each kind there are at a time
    answer_ms: int = 40  # how long the backend takes
    patience_s: float = 0.01  # how long clients that leave stay

    def run(self, stage: Stage, *, label: str) -> Outcome[Exchanged]:  # noqa: ARG002 - all requests are alike
        """Run both kinds at once."""
        path = f"/wait/{self.answer_ms}"
        flows = (
            Flow(connections=self.patient, at_once=self.at_once, path=path, close=True),
            Flow(connections=self.impatient, at_once=self.at_once, path=path, timeout_s=self.patience_s),
        )
        answered = timed(stage.client.flows, stage.address, stage.port, flows)
        return outcome_of(answered, Exchanged(flows=answered.answer))

    def observe(self, outcome: Outcome[Exchanged]) -> DepartureObservation:
        """Return the observation of a trial."""
        connections = [connection for flow in outcome.record.flows for connection in flow]
        answered = sum(answer.complete for answer in answers_of(connections))
        return DepartureObservation(**host_figures(outcome), answered=answered, left=len(connections) - answered)
