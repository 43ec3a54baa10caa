"""The text of the bpftrace program; tests/lab/test_watch.py tests it with a kernel."""

import pytest

from tuneproof.watch.program import ARCHITECTURES, X86_64, Architecture, Level, program


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("here", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_no_placeholder_is_left(level: Level, here: Architecture) -> None:
    text = program(here, level)
    assert "$$" not in text
    assert text.count("{") == text.count("}")
    assert ("raw_syscalls" in text) == (level is Level.CALLS)


def test_probes_of_exits_are_removed_before_those_of_starts() -> None:
    """Probes are removed in order: an exit without its start would be matched with a call from seconds ago."""
    text = program(X86_64, Level.CALLS)
    assert text.index("raw_syscalls:sys_exit") < text.index("raw_syscalls:sys_enter")
