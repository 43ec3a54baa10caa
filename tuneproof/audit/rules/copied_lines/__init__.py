"""Lines that travel from one nginx.conf to the next: which of them help, which do nothing, and which do harm.

Each is told by its directive and arguments; the figures are those of the catalogue's claims.
"""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines import (
    accepting,
    config_rot,
    request_limits,
    serving_files,
    tls_settings,
    upstreams,
)

NAME: Final = "copied_lines"
RANK: Final = 8

LINES: Final = (
    *accepting.LINES,
    *config_rot.LINES,
    *serving_files.LINES,
    *request_limits.LINES,
    *upstreams.LINES,
    *tls_settings.LINES,
)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield every such line, in the order of the files."""
    for said, block in facts.configuration.main.everything():
        if block.path[:1] == ("stream",):
            continue
        for line in LINES:
            if line.directive == said.name and line.when(said, block, facts):
                yield Advised(
                    name=line.scenario,
                    claim=line.claim,
                    state=line.state,
                    at=said,
                    why=f"{said.name} {' '.join(said.args)}: {line.why}",
                    edits=line.edits(said),
                )
