"""The causes of differential_diagnosis amid other traffic, and two more causes: refused connections, departing clients.

While each load runs, there are scans, ssh, DNS, a metadata service, refused connection attempts over IPv6, and a
database that loses packets, as in a capture on a real machine.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.differential_diagnosis import (
    DIAGNOSES,
    FILES_BACKEND,
    NINE_IN_TEN,
    SCENARIO,
    SLOW_BACKEND,
    STALL,
    Demand,
    arm,
)
from tuneproof.catalogue.recorded import Recorded, RecordedObservation
from tuneproof.catalogue.reuseport_stall import BULK_DOWNLOADS
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.lab.load.counted import Counted, Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.stage import CLIENT
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.depths import QUICK
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import STATIC, Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

_MORE_OFTEN_THAN_NOT: Final = 0.5
_MOST_OF_NINE: Final = "a quick run has time for at most nine trials of each cause; 8 of 9 show no more than a majority"
_NOBODY_LISTENS: Final = 9

REFUSED: Final = arm(
    "refused",
    Subject(name="dead-upstream", config=SubjectConfig(upstream=f"{FILES_BACKEND.name}:{_NOBODY_LISTENS}")),
    HttpLoad(concurrency=4, requests=200),
)
# Captures at the client and the backend use their CPU time, too: a Python backend would soon be as slow as the stalled
# nginx.
PROMPT_BACKEND: Final = Backend(name="prompt", kind=STATIC)
LONG_STALL: Final = arm(
    STALL.name,
    Subject(name="prompt-backend", config=SubjectConfig(upstream=PROMPT_BACKEND.upstream)),
    StallLoad(
        bulk_per_worker=(4 * BULK_DOWNLOADS, 4 * BULK_DOWNLOADS),
        fast_rate_hz=40.0,
        fast_timeout_s=0.5,
        settle_s=0.2,
        measure_s=1.2,
    ),
    look_after_s=0.7,
)


def depart(rig: Rig) -> Figures:
    """Let some clients leave before their response arrives, although responses are fast; let others wait for theirs."""
    path = "/wait/40"
    flows = (
        Flow(connections=120, at_once=4, path=path, close=True),
        Flow(connections=30, at_once=4, path=path, timeout_s=0.01),
    )
    connections = [connection for flow in rig.client.flows(*rig.at(), flows) for connection in flow]
    answered = sum(answer.complete for answer in answers_of(connections))
    left = len(connections) - answered
    # If no client left, or none stayed, the trial shows nothing.
    rig.must(answered > 0 and left > 0, f"{answered} clients stayed, {left} left")
    return {"answered": answered, "left": left}


GONE: Final = arm(
    "client-gone",
    Subject(name="slow-backend", config=SubjectConfig(upstream=SLOW_BACKEND.upstream)),
    Counted(script=depart, starts=False),
)
BACKENDS: Final = (FILES_BACKEND, SLOW_BACKEND, PROMPT_BACKEND)
_SENTENCES: Final[Mapping[str, str]] = {
    "healthy": "explain finds nothing wrong in healthy traffic amid other services' traffic",
    "event-loop-stall": "explain identifies a stalled event loop amid other services' traffic",
    "slow-reader": "explain identifies a slow reader amid other services' traffic",
    "accept-queue-overflow": "explain identifies a full accept queue amid other services' traffic",
    "syn-queue-drop": "explain identifies a full SYN queue amid other services' traffic",
    "backend-slow": "explain identifies a slow backend amid other services' traffic",
    "path-loss": "explain identifies packet loss amid other services' traffic",
    "refused": "explain identifies an upstream that refuses connections amid other services' traffic",
    "client-gone": "explain identifies clients that disconnect early amid other services' traffic",
}
DIAGNOSES_IN_A_STREET: Final[Mapping[str, tuple[Cause, ...]]] = {
    **DIAGNOSES,
    REFUSED.name: (Cause.REFUSED,),
    GONE.name: (Cause.CLIENT_GONE,),
}


def in_a_street(quiet: Arm[RecordedObservation]) -> Arm[RecordedObservation]:
    """Return the arm with other traffic during its load."""
    if not isinstance(quiet.plan, Recorded):
        raise TypeError(f"{quiet.name} is not recorded")
    asked = [backend.name for backend in BACKENDS if backend.upstream == quiet.subject.config.upstream]
    return replace(quiet, plan=replace(quiet.plan, street_to=asked[0] if asked else FILES_BACKEND.name))


def identified(observation: RecordedObservation, causes: tuple[Cause, ...]) -> Tally:
    """Return whether nginx's files lead only to the cause that the lab created, and captures elsewhere to no other."""
    names = [cause.value for cause in causes]
    right = list(observation.found) == names and set(observation.found_from_outside) <= set(names)
    return Tally.yes(when=right)


def _claim(name: str, sentence: str, demand: Demand | None) -> Claim[RecordedObservation]:
    return Claim(
        name=f"{name.replace('-', '_')}_is_told_in_a_street",
        sentence=sentence,
        source="nginx under high concurrency drops SYNs (2020): where is it lost?",
        arms=(name,),
        effect=lambda block: identified(block[name], DIAGNOSES_IN_A_STREET[name]),
        effect_name="right diagnoses, with no wrong one from the other captures",
        scale=Scale.SHARE,
        threshold=demand.right_share if demand else _MORE_OFTEN_THAN_NOT,
        why=demand.why if demand else _MOST_OF_NINE,
        own_looks=demand.looks if demand else (),
    )


def street_scenario(demand: Demand | None = None) -> Scenario[RecordedObservation]:
    """Return the scenario of the diagnoses amid other traffic.

    ``demand``: The required share of right diagnoses (default: more than half).
    """
    others = [quiet for quiet in SCENARIO.arms if quiet is not STALL]
    return Scenario(
        name="diagnosis_in_a_street",
        arms=tuple(map(in_a_street, (*others, LONG_STALL, REFUSED, GONE))),
        claims=tuple(_claim(name, sentence, demand) for name, sentence in _SENTENCES.items()),
        backends=BACKENDS,
        warm_up=SCENARIO.warm_up,
        beside=(CLIENT, *[backend.name for backend in BACKENDS]),
    )


ADVICE: Final = Advice(
    scenario=lambda run: street_scenario(None if run.depth == QUICK else NINE_IN_TEN),
    # These claims are about explain, not about nginx.
    full_depth=tuple(claim.name for claim in street_scenario().claims),
    timed=True,
)
