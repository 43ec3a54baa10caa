"""Trials of the differential diagnosis."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from tuneproof.catalogue.differential_diagnosis import SCENARIO
from tuneproof.catalogue.recorded import RecordedObservation
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.proof.inference.effects import Tally

QUIET: Final = RecordedObservation(
    measuring_s=1.0,
    found=(),
    possible=(),
    flows=100,
    clients_answered_with_reset=0,
    syn_repeated_share=0.0,
    unfinished_share=0.0,
    zero_window_share=0.0,
)
CLAIM_OF: Final = {claim.arms[0]: claim for claim in SCENARIO.claims if claim.effect_name == "right diagnoses"}
RIGHT: Final = Tally(count=1, of=1)
WRONG: Final = Tally(count=0, of=1)
Block = Sequence[RecordedObservation]


def diagnosed(*causes: Cause) -> RecordedObservation:
    """Return a trial with files that show these causes, the primary one first."""
    return replace(QUIET, found=tuple(cause.value for cause in causes))


def changed(**values: Any) -> RecordedObservation:
    return replace(QUIET, **values)


# A claim, blocks with its effect, and blocks without it; a block has the first arm's observation, then the second's.
TABLE: Final[Sequence[tuple[str, Sequence[Block], Sequence[Block]]]] = (
    (
        "log_lies_in_stall",
        [[changed(log_connect_p90_ms=50.0, wire_connect_p90_ms=0.04)]],
        [[changed(log_connect_p90_ms=0.3, wire_connect_p90_ms=0.04)]],
    ),
    (
        "stalled_nginx_sends_to_nobody",
        [[changed(clients_answered_with_reset=1), QUIET]],
        [
            [QUIET, QUIET],
            [changed(clients_answered_with_reset=9), changed(clients_answered_with_reset=1)],
            [QUIET, changed(clients_answered_with_reset=1)],
        ],
    ),
    *(
        (
            name,
            [[changed(**{figure: 0.51}), QUIET]],
            [[changed(**{figure: 0.49}), QUIET], [changed(**{figure: 1.0}), changed(**{figure: 1.0})]],
        )
        for name, figure in (
            ("overflow_repeats_syns", "syn_repeated_share"),
            ("syn_pressure_is_unfinished", "unfinished_share"),
            ("slow_reader_closes_window", "zero_window_share"),
        )
    ),
)
