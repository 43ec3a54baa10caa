"""Claims that are decided by counting are reversed when another arm of their scenario replaces one of their own.

The replacement removes the remedy, or adds the cause; a claim that is expected to be refuted then holds.
"""

from typing import Any, Final

import pytest

from fixtures.labs import Measure
from tests.support.every_scenario import EVERY_SCENARIO
from tests.support.turned import turned
from tuneproof.lab.network.profiles import BARE
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.keys import Key

# The scenarios take minutes together. In quick runs, test_both_ways.py takes away one scenario's cause.
pytestmark = [pytest.mark.engine, pytest.mark.slow]

TURNED: Final = {
    scenario.name: scenario for scenario in EVERY_SCENARIO if any(claim.turned_by for claim in scenario.claims)
}


@pytest.mark.parametrize("scenario", TURNED.values(), ids=TURNED)
def test_a_claim_is_reversed_by_another_arm(scenario: Scenario[Any], nginx: str, measure: Measure) -> None:
    other_way = turned(scenario)
    lab = Key(f"{scenario.name} turned", "", nginx, BARE.name)
    claims = [claim for claim in other_way.claims if not claim.is_ahead_of(nginx)]
    with measure(lab, other_way, claims) as measures:
        verdicts = {claim.name: measures.decide(claim).verdict for claim in claims}
    assert verdicts == {claim.name: claim.expected for claim in claims}
