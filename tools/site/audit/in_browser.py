"""Runs in the browser: audits the text of a configuration, as ``tuneproof audit -`` does for standard input."""

import io
import sys

from tuneproof.audit.auditing import audit
from tuneproof.audit.render import render
from tuneproof.errors import TuneproofError

WIDTH = 100  # columns


def audited(text: str, version: str) -> str:
    """Return an audit's output, or an error; an empty version means each stable one that fits, or else mainline."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        return render(audit("-", version=version or None), width=WIDTH)
    except TuneproofError as error:
        return str(error)
