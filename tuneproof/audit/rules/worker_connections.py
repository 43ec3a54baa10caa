"""What worker_connections costs before anybody connects."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.conditions import SLOT_BYTES
from tuneproof.conf.facts import Facts
from tuneproof.wording import size

NAME: Final = "worker_connections"
RANK: Final = 2
CLAIM: Final = "a_connection_costs_424_bytes"
_LARGE_BYTES: Final = 64 << 20


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield worker_connections where they cost much."""
    for events in facts.configuration.main.all("events"):
        said = events.setting("worker_connections")
        if said is None or facts.worker_connections is None:
            continue
        each = facts.worker_connections * SLOT_BYTES
        if each >= _LARGE_BYTES:
            total = f", {size(each * facts.workers)} for {facts.workers} workers" if facts.workers else ""
            why = f"every worker allocates {size(each)} at start{total}, before anybody connects"
            yield Advised(name=NAME, claim=CLAIM, state=State.HARMFUL, at=said, why=why)
