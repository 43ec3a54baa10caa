"""Finds worker_connections that cost much memory before any client connects."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.conditions import connections_bytes
from tuneproof.conf.facts import Facts
from tuneproof.wording import size

NAME: Final = "worker_connections"
RANK: Final = 2
CLAIM: Final = "a_connection_costs_424_bytes"
_LARGE_BYTES: Final = 64 << 20
_MEASURED: Final = 1_000_000
"""The memory for this number is predicted from measurements; whether fewer are too many depends on the clients."""


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield a finding for a worker_connections that costs much memory."""
    for events in facts.configuration.main.all("events"):
        said = events.setting("worker_connections")
        if said is None or facts.worker_connections is None:
            continue
        each = connections_bytes(facts)
        if each >= _LARGE_BYTES:
            total = f", {size(each * facts.workers)} for {facts.workers} workers" if facts.workers else ""
            why = f"every worker allocates {size(each)} at start{total}, before anybody connects"
            is_measured = facts.worker_connections >= _MEASURED
            yield Advised(
                name=NAME,
                claim=CLAIM,
                state=State.HARMFUL if is_measured else State.CANNOT_TELL,
                at=said,
                why=why if is_measured else f"{why}; worth it if about so many connections are open at once",
                check="" if is_measured else "ss -Htn state established | wc -l",
            )
