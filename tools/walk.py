"""How far it is from a command to its number: ``python -m tools.walk small_rmem_restores_loop`` (needs an engine).

The claim is run as ``./lab run -k CLAIM`` would. Whenever one of the ends below is reached (a test is collected, a
container is asked, an observation is made, a block's effect is computed, the verdict is given, the result is written),
every function on the call stack is noted. Counted are the modules of these functions, and the types that a reader must
know to follow them: those of the objects that have the functions as methods. What only prepares the lab (images,
engine, containers, links), what pytest and the standard library do, and what is compiled are not counted.
"""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

_ROOT: Final = Path(__file__).resolve().parents[1]
_OURS: Final = ("tuneproof", "fixtures", "tests", "conftest")
# By file and function: where the path from command to number has its ends. An effect is whatever `enter` calls.
_ENDS: Final = frozenset(
    {
        ("tuneproof/lab/topology/channel.py", "ask"),
        ("tuneproof/proof/inference/verdicts.py", "assess"),
        ("tuneproof/proof/scenario/measurement.py", "_observed_in"),
        ("tuneproof/report/results/run_file.py", "append"),
    }
)
_CALLER_OF_EFFECTS: Final = ("tuneproof/proof/inference/experiment.py", "enter")
_COLLECTS: Final = "pytest_generate_tests"
# Above these, the lab is prepared and not measured.
_PREPARES: Final = frozenset({"prepare", "__init__", "_read_back", "_start", "place_cpus", "shaper"})


class Walk:
    """Notes modules, calls and types on the stacks above the ends."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.calls: set[CodeType] = set()
        self.types: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Profile function (:func:`sys.setprofile`)."""
        if event == "call" and self._is_end(frame):
            stack = list(_ours(frame))
            if not any(item.f_code.co_name in _PREPARES for item in stack):
                for item in stack:
                    self._note(item)

    def _is_end(self, frame: FrameType) -> bool:
        if _place(frame) in _ENDS or frame.f_code.co_name == _COLLECTS:
            return True
        return frame.f_back is not None and _place(frame.f_back) == _CALLER_OF_EFFECTS

    def _note(self, frame: FrameType) -> None:
        self.modules.add(_place(frame)[0])
        self.calls.add(frame.f_code)
        owner = frame.f_locals.get("self")
        if owner is not None and type(owner).__module__.partition(".")[0] in _OURS:
            self.types.add(type(owner).__name__)


def _place(frame: FrameType) -> tuple[str, str]:
    path = frame.f_code.co_filename
    root = f"{_ROOT}/"
    return path.removeprefix(root), frame.f_code.co_name


def _ours(frame: FrameType | None) -> Any:
    while frame is not None:
        if _place(frame)[0].startswith(_OURS):
            yield frame
        frame = frame.f_back


def main(arguments: Sequence[str]) -> int:
    """Run the claim, and print what was counted."""
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    status = pytest.main(["tests/scenarios", "-p", "no:hypothesispytest", "-q", "-k", *arguments])
    sys.setprofile(None)
    threading.setprofile(None)
    for title, found in (("modules", sorted(walk.modules)), ("types", sorted(walk.types))):
        sys.stdout.write(f"{len(found)} {title}: {', '.join(found)}\n")
    sys.stdout.write(f"{len(walk.calls)} functions\n")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
