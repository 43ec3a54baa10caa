"""Counts the code that produces a claim's figure: ``python -m tools.walk CLAIM`` (needs an engine).

It runs the claim like ``./lab run -k CLAIM``. It counts this project's modules in which a function runs while pytest
collects, and while the claim's test runs: what you would read to learn where the figure comes from. The types counted
are those with these functions as methods. Setting up and removing the lab (images, engine, containers, links),
fixtures, the report, and what happens at import are not counted.
"""

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

import pytest

_ROOT: Final = f"{Path(__file__).resolve().parents[1]}/"
_OURS: Final = ("tuneproof/", "fixtures/", "tests/", "conftest.py")


class Walk:
    """A pytest plugin that records what runs."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.functions: set[CodeType] = set()
        self.types: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call (:func:`sys.setprofile`)."""
        code = frame.f_code
        path = code.co_filename.removeprefix(_ROOT)
        if event != "call" or not path.startswith(_OURS) or _is_importing(frame):
            return
        self.modules.add(path)
        self.functions.add(code)
        owner = frame.f_locals.get("self")
        if owner is not None and f"{type(owner).__module__.replace('.', '/')}/".startswith(_OURS):
            self.types.add(type(owner).__name__)

    def _noting(self) -> Iterator[None]:
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Iterator[None]:
        """Record what runs while tests are collected."""
        return (yield from self._noting())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Record what runs while a test runs."""
        return (yield from self._noting())


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.removeprefix(_ROOT).startswith(_OURS):
            return True
        frame = frame.f_back
    return False


def main(arguments: Sequence[str]) -> int:
    """Run the claim, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claim", help="the name of a claim, as for -k")
    claim = parser.parse_args(arguments).claim
    walk = Walk()
    status = pytest.main(["tests/scenarios", "-p", "no:hypothesispytest", "-q", "-k", claim], plugins=[walk])
    for title, found in (("modules", sorted(walk.modules)), ("types", sorted(walk.types))):
        sys.stdout.write(f"{len(found)} {title}: {', '.join(found)}\n")
    sys.stdout.write(f"{len(walk.functions)} functions\n")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
