"""The examples of docs/: what an audit really says of the configuration above it."""

import re
from typing import Final

from tuneproof.audit.auditing import audit_source
from tuneproof.audit.render import render
from tuneproof.conf.sources import Dump

_NAME: Final = "site.conf"
_VERSION: Final = "1.22"
_COLUMNS: Final = 100
_EXAMPLE: Final = re.compile(r"(```nginx\n(?P<site>.*?)```\n.*?```text\n).*?(```)", re.DOTALL)


def with_example(page: str) -> str:
    """Return a page whose block of text says what an audit says of its block of nginx's configuration.

    With ``--details`` where the page says so before the block.
    """
    return _EXAMPLE.sub(lambda match: f"{match[1]}{_audited(match)}\n{match[3]}", page)


def _audited(match: re.Match[str]) -> str:
    found = audit_source(Dump({_NAME: match["site"]}, is_complete=False), version=_VERSION)
    return render(found, width=_COLUMNS, details="--details" in match[1])
