"""What is said to relieve an event loop that large responses keep busy."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts

NAME: Final = "reuseport_stall_league"
RANK: Final = 4


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield threads that were meant to relieve the loop of a proxy, and limits that do."""
    told: set[int] = set()
    for proxied in facts.proxied:
        block = proxied.target.block
        aio, write, limit = (block.setting(name) for name in ("aio", "aio_write", "proxy_limit_rate"))
        if aio and write and aio.value.startswith("threads") and write.value == "on" and id(write) not in told:
            told.add(id(write))
            why = "writing a proxied response to its file by a thread does not shorten the loop iterations"
            yield Advised(name=NAME, claim="aio_threads_halve_lag", state=State.WITHOUT_EFFECT, at=write, why=why)
        if limit and limit.value != "0" and proxied.is_buffered and id(limit) not in told:
            told.add(id(limit))
            why = f"no connection takes more than {limit.value} bytes a second, so no loop iteration is long"
            yield Advised(name=NAME, claim="limit_rate_halves_lag", state=State.IN_EFFECT, at=limit, why=why)
