"""If nginx dies during a trial, the lab starts again; the trial counts only if the claim is about nginx's death."""

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.labs import Measure
from tuneproof.catalogue import proxy_buffering
from tuneproof.catalogue.counting import Setting, arms_of
from tuneproof.lab.load.counted import CountedObservation, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.trial_nginx import TrialNginx
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.measurement import ScenarioEndedError
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.keys import Key

pytestmark = [pytest.mark.engine]


def scenario_with(script: Callable[[Rig], Figures]) -> Scenario[Any]:
    """Return a scenario with the claim that, in most trials, a request gets its response."""
    arms = arms_of([Setting(name="asked", config=written_config(""), script=script)])
    claim = Claim[CountedObservation](
        name="requests_are_answered",
        sentence="Every request is answered",
        source="check of the lab",
        arms=("asked",),
        effect=lambda block: Tally.yes(when=block["asked"]["answered"] == 1),
        effect_name="trials with an answer",
        scale=Scale.SHARE,
        threshold=0.5,
        why="a lab that was started again must be as good as the first",
    )
    return Scenario(name="faults", arms=arms, claims=(claim,), backends=())


def dies_in_trials(*numbers: int) -> Callable[[Rig], Figures]:
    """Return a script that sends one request; in trials with these numbers, it first kills nginx's container."""
    done = 0

    def script(rig: Rig) -> Figures:
        nonlocal done
        done += 1
        if done in numbers:
            rig._stage.subject.kill()
        return {
            "answered": sum(bool(one.answers) for one in rig.flow(Flow(connections=1, path="/none", timeout_s=2.0)))
        }

    return script


def test_one_death_of_nginx_makes_one_round_void(nginx: str, measure: Measure) -> None:
    scenario = scenario_with(dies_in_trials(2))
    with measure(Key(scenario.name, "", nginx, BARE.name), scenario, scenario.claims) as measures:
        cell = measures.decide(scenario.claims[0])
    assert (cell.verdict, cell.void_blocks) == (Verdict.HOLDS, 1), cell.reason
    assert cell.arms["asked"]["answered"] == 1


@pytest.mark.slow
def test_a_second_death_of_nginx_ends_the_scenario_with_the_reason(nginx: str, measure: Measure) -> None:
    scenario = scenario_with(dies_in_trials(2, 3))
    with (
        measure(Key(scenario.name, "", nginx, BARE.name), scenario, scenario.claims) as measures,
        pytest.raises(ScenarioEndedError) as ended,
    ):
        measures.decide(scenario.claims[0])
    assert (ended.value.cell.verdict, ended.value.cell.blocks) == (Verdict.UNSUPPORTED, 0)
    assert "died during a trial" in ended.value.cell.reason


@pytest.mark.slow
def test_a_container_killed_at_the_scenarios_own_limit_counts(
    nginx: str, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may kill all of nginx instead of one worker, as it once did in a run with all versions."""
    fresh_workers = TrialNginx.fresh_workers

    def killed_first(nginx: TrialNginx) -> None:
        """Make the kernel kill process 1 before any other, which ends the container."""
        fresh_workers(nginx)
        nginx.run("sh", "-c", "echo 1000 >/proc/1/oom_score_adj")

    monkeypatch.setattr(TrialNginx, "fresh_workers", killed_first)
    claim = proxy_buffering.SCENARIO.claim("one_reader_breaks_a_memory_limit")
    with measure(Key("faults of memory", "", nginx, BARE.name), proxy_buffering.SCENARIO, [claim]) as measures:
        cell = measures.decide(claim)
    assert (cell.verdict, cell.void_blocks) == (Verdict.HOLDS, 0), cell.reason
    assert cell.arms[proxy_buffering.KILLED.name] == {"trials": cell.blocks, "oom_kills": 1}
