"""The program's text; that a kernel takes it, tests/lab/test_watch.py shows."""

import pytest

from tuneproof.watch.program import ARCHITECTURES, X86_64, Architecture, Level, program


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("here", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_no_placeholder_is_left(level: Level, here: Architecture) -> None:
    text = program(here, level)
    assert "$$" not in text
    assert text.count("{") == text.count("}")
    assert ("raw_syscalls" in text) == (level is Level.CALLS)


def test_exits_of_calls_are_left_alone_before_their_starts_are() -> None:
    """Probes are taken away in their order: an exit without its start would be an earlier call's, of seconds."""
    text = program(X86_64, Level.CALLS)
    assert text.index("raw_syscalls:sys_exit") < text.index("raw_syscalls:sys_enter")
