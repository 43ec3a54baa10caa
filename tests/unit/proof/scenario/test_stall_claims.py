"""The claims about the reuseport stall: their doses, their effects, and the arms that they compare."""

import dataclasses
import itertools

import pytest

from tests.support.canned_observations import STALL
from tests.support.canned_trials import observed, stall_record
from tuneproof.catalogue.reuseport_stall import TCP_RMEM, ReuseportStall, dose_maxima
from tuneproof.catalogue.reuseport_stall_effects import fed_to_loaded, slow
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.proof.scenario.preconditions import PreconditionError

DEFAULT = (4096, 131072, 6291456)


def served(*worker_pids: int | None) -> StallObservation:
    """Return a trial with fast requests answered by these workers; worker 11 has the bulk downloads."""
    fast = tuple(dataclasses.replace(STALL.fast[0], worker_pid=pid) for pid in worker_pids)
    return dataclasses.replace(STALL, fast=fast)


@pytest.mark.parametrize("default_max_bytes", [6291456, 16777216, 2097152])
def test_doses_go_from_the_hosts_default_to_the_articles_value_in_equal_ratios(default_max_bytes: int) -> None:
    doses = dose_maxima(default_max_bytes)
    assert len(doses) >= 5
    assert (doses[0], doses[-1]) == (default_max_bytes, 40960)
    steps = [smaller / larger for larger, smaller in itertools.pairwise(doses)]
    assert max(steps) < 1
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-3)


@pytest.mark.parametrize("default_max_bytes", [131072, 40960, 4096])
def test_a_host_with_a_default_close_to_or_below_the_remedy_has_no_doses(default_max_bytes: int) -> None:
    with pytest.raises(PreconditionError, match=f"{default_max_bytes} bytes: too small for 5 different buffer sizes"):
        dose_maxima(default_max_bytes)


def test_slow_requests_are_defined_by_the_unloaded_median_of_their_own_trial() -> None:
    """Five times 4 ms is 20 ms; a request that takes exactly 20 ms is not slow."""
    observation = observed(stall_record(baseline_ms=[3.0, 4.0, 400.0], fast_ms=[20.0, 20.1, 5.0, 900.0]))
    assert slow(observation) == 2 / 4


def test_a_fast_request_that_failed_early_is_slow() -> None:
    """Half a body after 5 ms is not a fast response."""
    cut = dataclasses.replace(STALL.fast[0], complete=False)
    assert slow(dataclasses.replace(STALL, fast=(cut, *STALL.fast[1:]))) == 1 / 10


def test_requests_to_the_loaded_worker_include_unanswered_ones() -> None:
    """An idle worker answers within the time limit, so unanswered requests went to the loaded worker."""
    assert fed_to_loaded(served(11, 12, None, 12, 12)) == 2 / 5
    with pytest.raises(ValueError, match="no fast request"):
        fed_to_loaded(served())


def test_the_scenario_uses_the_hosts_default_and_the_articles_remedy() -> None:
    """The first dose is the host's own value; the last fixes all three values, as the article does."""
    doses = ReuseportStall(default_rmem=DEFAULT).dose_arms()
    rmem = [arm.subject.sysctls[TCP_RMEM] for arm in doses]
    assert rmem[0] == "4096 131072 6291456"
    assert rmem[-1] == "40960 40960 40960"
    for triple in rmem:
        low, default, high = (int(value) for value in triple.split())
        assert low <= default <= high
    assert all(arm.subject.config == doses[0].subject.config for arm in doses)


def test_every_arm_is_used_and_compared_arms_run_the_same_load() -> None:
    stall = ReuseportStall(default_rmem=DEFAULT)
    arms = {arm.name: arm for arm in stall.arms()}
    scenario = stall.scenario()
    assert scenario.used_arms(scenario.claims) == scenario.arms, "some arms are used by no claim"
    for one, other in (
        ("reuseport-one-loaded", "shared-one-loaded"),
        ("reuseport-all-loaded", "shared-all-loaded"),
        ("rmem-6291456", "rmem-40960"),
    ):
        assert arms[one].plan == arms[other].plan
    twin, default = arms["twin"], arms["rmem-6291456"]
    assert twin.subject.config == default.subject.config
