"""Streams behind nginx: server-sent events, tokens of a language model, long polling."""

from typing import Final

from tuneproof.catalogue import streams_delivery, streams_lasting
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import arms_of, claims_of
from tuneproof.catalogue.streams_config import BACKEND
from tuneproof.catalogue.streams_scripts import MANY
from tuneproof.proof.scenario.scenarios import Scenario

ARMS: Final = arms_of([*streams_delivery.SETTINGS, *streams_lasting.SETTINGS])
CLAIMS: Final = (*streams_delivery.CLAIMS, *claims_of("streams", MANY=MANY))
SCENARIO: Final = Scenario(name="streams", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("buffering_off_is_enough", "defaults_hold_events_within_tls"),
)
