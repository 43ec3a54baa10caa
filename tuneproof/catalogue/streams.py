"""Streams behind nginx: server-sent events, a language model's tokens, long polling."""

from typing import Final

from tuneproof.catalogue import streams_delivery, streams_lasting
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import arms_of, claims_of
from tuneproof.catalogue.streams_config import BACKEND
from tuneproof.catalogue.streams_scripts import EVENTS, MANY, SMALL_BYTES
from tuneproof.proof.scenario.scenarios import Scenario

ARMS: Final = arms_of([*streams_delivery.SETTINGS, *streams_lasting.SETTINGS])
CLAIMS: Final = claims_of("streams", MANY=MANY, EVENTS=EVENTS, SMALL_BYTES=SMALL_BYTES)
SCENARIO: Final = Scenario(name="streams", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("buffering_off_is_enough", "defaults_hold_events_within_tls"),
)
