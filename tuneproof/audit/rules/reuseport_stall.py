"""Finds TCP listens with "reuseport": useless with one worker; with several, even a busy one gets new connections."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.patches import Replace
from tuneproof.conf.facts import Facts

NAME: Final = "reuseport_stall"
RANK: Final = 3
CLAIM: Final = "reuseport_feeds_loaded_worker"


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield a finding for each TCP ``listen`` with reuseport, if there is one worker or a buffered upstream."""
    for server in facts.servers:
        for listen in server.block.local("listen"):
            # Over UDP, reuseport keeps the packets of a connection together.
            if "reuseport" not in listen.args or "quic" in listen.args:
                continue
            if facts.workers == 1:
                why = "with one worker there is nothing to distribute"
                text = f"listen {' '.join(arg for arg in listen.args if arg != 'reuseport')};"
                edits = (Replace(old=listen, text=text),)
                yield Advised(name=NAME, claim=CLAIM, state=State.WITHOUT_EFFECT, at=listen, why=why, edits=edits)
            elif any(proxied.is_buffered for proxied in facts.proxied):
                why = (
                    "the kernel keeps assigning connections to a worker that is busy with large responses; a shared "
                    "queue would not. The configuration does not show whether you have such responses"
                )
                yield Advised(name=NAME, claim=CLAIM, state=State.CANNOT_TELL, at=listen, why=why)
