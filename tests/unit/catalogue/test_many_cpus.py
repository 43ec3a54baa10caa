"""Advice for large machines: its workers, its load generators, and claims that can hold and can be refuted."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.support.canned_observations import HTTP
from tuneproof.catalogue import many_cpus
from tuneproof.catalogue.advice import RunConditions
from tuneproof.lab.load.http_load import HttpObservation
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare

CPUS = (0, 1, 2, 3, 4, 5, 8, 9, 10, 11)
TEN = RunConditions(subject_cpus=lambda: CPUS)


def arms() -> Mapping[str, Arm[HttpObservation]]:
    return {arm.name: arm for arm in many_cpus.scenario(TEN).arms}


def test_each_worker_that_accepts_has_its_own_cpu() -> None:
    """With worker_cpu_affinity auto, nginx would count from the machine's first CPU."""
    for name, listeners in (("shared-queue", 1), ("queue-per-worker", len(CPUS))):
        arm = arms()[name]
        assert arm.subject.cpus is CpuShare.MANY
        assert (arm.subject.config.workers_on, arm.subject.config.listeners) == (CPUS, listeners)


def test_the_number_of_workers_follows_the_cpus() -> None:
    names = ("worker-per-cpu", "half-as-many", "twice-as-many")
    configs = [arms()[name].subject.config for name in names]
    assert [config.worker_processes for config in configs] == [10, 5, 20]
    assert {config.workers_on for config in configs} == {()}


@pytest.mark.parametrize("declared", many_cpus.CLAIMS, ids=lambda one: one.name)
def test_a_claim_can_hold_and_can_be_refuted(declared: Claim[HttpObservation]) -> None:
    strong = replace(
        HTTP, requests_per_s=2 * HTTP.requests_per_s, worker_cpu_us_per_request=2 * HTTP.worker_cpu_us_per_request
    )
    first, second = declared.arms
    assert declared.effect({first: strong, second: HTTP}) == pytest.approx(2.0)
    assert declared.threshold < 2.0
    assert declared.effect({first: HTTP, second: HTTP}) == pytest.approx(1.0)
    assert declared.threshold > 1.0


def test_the_same_arms_are_declared_if_nginx_has_only_one_cpu() -> None:
    one = many_cpus.scenario(RunConditions(subject_cpus=lambda: [0]))
    assert [arm.name for arm in one.arms] == list(arms())
    assert min(arm.subject.config.worker_processes for arm in one.arms) == 1
