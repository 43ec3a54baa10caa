"""What every scenario must keep: the host as it was."""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.host_state import HostState
from tuneproof.errors import LabError

# A link's end is told a moment after the engine has removed its network.
_SETTLED_WITHIN_S: Final = 5.0


@pytest.fixture(scope="class", autouse=True)
def host_left_as_it_was() -> Iterator[None]:
    """Compare the host's sysctls, links and queueing disciplines before and after all labs of a scenario."""
    before = HostState.read()
    yield
    deadline_s = time.monotonic() + _SETTLED_WITHIN_S
    while changes := HostState.read().changes_since(before):
        if time.monotonic() > deadline_s:
            raise LabError("the scenario has left its host another than it was", tail="\n".join(changes))
        time.sleep(0.2)
