"""All scenarios, as in a quick run on an ordinary host with the bare network."""

from typing import Any, Final

from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

_BY_NAME: Final = {advice.name: advice.scenario(RunConditions()) for advice in every_advice()}
EVERY_SCENARIO: Final[tuple[Scenario[Any], ...]] = tuple(_BY_NAME.values())

# These scenarios do not count events: their claims are about a diagnosis.
DIAGNOSIS: Final = _BY_NAME["differential_diagnosis"]
FAILURES: Final = _BY_NAME["diagnosis_of_failures"]
STREET: Final = _BY_NAME["diagnosis_in_a_street"]


def claim_of(name: str) -> Claim[Any]:
    """Return a claim by its scenario's name and its own, such as "listen_queue/long_backlog_spares_connects"."""
    scenario, _, own = name.partition("/")
    return _BY_NAME[scenario].claim(own)
