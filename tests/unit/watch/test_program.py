"""The text of the bpftrace program; tests/lab/test_watch.py tests it with a kernel."""

import pytest

from tuneproof.watch.program import ARCHITECTURES, X86_64, Architecture, Level, program


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("here", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_only_the_detailed_level_traces_every_system_call(level: Level, here: Architecture) -> None:
    text = program(here, level)
    assert "$$" not in text
    assert text.count("{") == text.count("}")
    assert ("raw_syscalls" in text) == (level is Level.CALLS)


def test_the_probe_of_system_call_exits_precedes_that_of_entries() -> None:
    """Probes are removed in order: an exit without its entry would be matched with an earlier call."""
    text = program(X86_64, Level.CALLS)
    assert text.index("raw_syscalls:sys_exit") < text.index("raw_syscalls:sys_enter")
