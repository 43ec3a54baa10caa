"""accept_mutex against workers that wake for nothing."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts
from tuneproof.audit.patches import Replace

NAME: Final = "reuseport_stall_herd"
RANK: Final = 5
EXPIRED_SINCE: Final = (1, 11, 3)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield accept_mutex where it is switched on."""
    for events in facts.configuration.main.all("events"):
        for mutex in events.local("accept_mutex"):
            if mutex.value == "on" and facts.version_numbers >= EXPIRED_SINCE:
                why = (
                    "the kernel wakes one worker for a connection since nginx 1.11.3 (EPOLLEXCLUSIVE), without a mutex"
                )
                yield Advised(
                    name=NAME,
                    claim="shared_queue_wakes_for_nothing",
                    state=State.EXPIRED,
                    at=mutex,
                    why=why,
                    edits=(Replace(old=mutex, text=""),),
                )
