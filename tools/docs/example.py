"""The examples in README.md and docs/: audits of configurations, explain's answers to logs, and commands' output."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tuneproof.audit.auditing import audit_source
from tuneproof.audit.render import render
from tuneproof.conf.sources import Dump
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import Source
from tuneproof.explain.terminal import render_text

_NAME: Final = "site.conf"
_VERSION: Final = "1.22"
_COLUMNS: Final = 100
_EXAMPLE: Final = re.compile(r"(```nginx\n(?P<site>.*?)```\n.*?```text\n).*?(```)", re.DOTALL)
LOGGED: Final = re.compile(r"(```text\n(?P<log>\d{4}/\d\d/\d\d .*?)```\n.*?```text\n).*?(```)", re.DOTALL)
"""A block of an error log, and the next block of text."""
COMMAND: Final = re.compile(r"(```sh\n(?P<command>\./lab [^\n]*)\n```\n\n```text\n).*?(```)", re.DOTALL)
"""A command alone in its block, and the next block, which has its output."""
_ROOT: Final = Path(__file__).parents[2]


def with_example(page: str) -> str:
    """Return a page with its examples up to date.

    A text block after a configuration gets its audit, with ``--details`` if the page mentions that in between. A text
    block after an error log gets explain's answer; one after a single command gets the command's output.
    """
    audited = _EXAMPLE.sub(lambda match: f"{match[1]}{_audited(match)}\n{match[3]}", page)
    explained = LOGGED.sub(lambda match: f"{match[1]}{_explained(match['log'])}{match[3]}", audited)
    return COMMAND.sub(lambda match: f"{match[1]}{_printed(match['command'])}{match[3]}", explained)


def _audited(match: re.Match[str]) -> str:
    found = audit_source(Dump({_NAME: match["site"]}, is_complete=False), version=_VERSION)
    return render(found, width=_COLUMNS, details="--details" in match[1])


def _explained(log: str) -> str:
    with tempfile.NamedTemporaryFile(prefix="tuneproof-") as pasted:
        path = Path(pasted.name)
        path.write_text(log, encoding="utf-8")
        explained = explain([Source(name="standard input", path=path)])
    return render_text(explained.found, explained.diagnosis, explained.messages, width=_COLUMNS, color=False)


def _printed(command: str) -> str:
    # ./lab would create a virtual environment; this interpreter already has the packages.
    by_python = command.replace("./lab", f"{shlex.quote(sys.executable)} -m tuneproof.cli", 1)
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "PYTHONPATH": str(_ROOT)}
    environment.pop("TUNEPROOF_CALLED_FROM", None)
    ran = subprocess.run(
        ["/bin/sh", "-c", by_python], cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return ran.stdout
