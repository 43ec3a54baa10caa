"""Starts a lab with everything that a scenario's trials need, outside a run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tuneproof.lab.engine.labels import Session
from tuneproof.lab.topology.lab import Lab
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.bench import Bench
from tuneproof.proof.scenario.scenarios import Scenario


@contextmanager
def bench_of(
    session: Session, scenario: Scenario[Any], *, arms: Sequence[Arm[Any]] = (), **others: Any
) -> Iterator[tuple[Lab, Bench]]:
    """Start a scenario's lab, which ends with the context (arms: the arms to prepare; default: all)."""
    with Lab(session) as lab:
        yield lab, Bench(lab, scenario=scenario, arms=arms or scenario.arms, **others)
