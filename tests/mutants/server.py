"""``python -m tests.mutants.server`` runs pytest in a forked process for each line of JSON on standard input.

Slow packages are imported only once. Each answer is the name of the first test that fails, RUN, TIME_LIMIT, or an empty
line.
"""

import json
import os
import select
import signal
import sys
from importlib import import_module
from typing import Final

import pytest

_SLOW_IMPORTS: Final = ("hypothesis", "scipy.stats")
# pytest warns of plugins that are imported before it starts.
_WARNINGS: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
_ARGUMENTS: Final = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", *_WARNINGS)
# Answers if a run fails without a failing test: RUN for an import error or a crash, TIME_LIMIT for an endless loop.
RUN: Final = "the run"
TIME_LIMIT: Final = "the time limit"


class _FirstFailure:
    """A pytest plugin that writes the name of each failing test to a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._pipe, f"{report.nodeid}\n".encode())


def _child(tests: list[str], pipe: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os._exit(int(pytest.main([*_ARGUMENTS, *tests], plugins=[_FirstFailure(pipe)])))


def first_failure(tests: list[str], limit_s: float | None) -> str:
    """Run tests until one fails; return its name, RUN, TIME_LIMIT, or "" if none fails."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _child(tests, writing)
    os.close(writing)
    ended = os.pidfd_open(process)
    in_time = bool(select.select([ended], [], [], limit_s)[0])
    if not in_time:
        os.killpg(process, signal.SIGKILL)
    os.close(ended)
    _, status = os.waitpid(process, 0)
    # A process that a test left behind may still hold the pipe open, so the read must not wait for its end.
    os.set_blocking(reading, False)
    with os.fdopen(reading) as names:
        name = names.readline().strip() if in_time else TIME_LIMIT
    return "" if status == 0 else name or RUN


def main() -> None:
    for name in _SLOW_IMPORTS:
        import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(f"{first_failure(request['tests'], request['limit_s'])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
