"""Every scenario must leave the host unchanged."""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from fixtures.claims import key_of
from tests.support.host_state import HostState
from tuneproof.errors import LabError

# A network interface disappears a moment after the engine has removed its network.
_SETTLED_WITHIN_S: Final = 5.0
_BEFORE: Final = pytest.StashKey[HostState]()


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before a lab starts
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Read the host's sysctls, interfaces and queueing disciplines before the first lab of a scenario."""
    if _BEFORE not in item.session.stash:
        item.session.stash[_BEFORE] = HostState.read()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after a lab has ended
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Compare the host's state after the scenario's last lab with its state before the first."""
    yield
    if _scenario_of(item) == _scenario_of(nextitem):
        return
    before = item.session.stash[_BEFORE]
    del item.session.stash[_BEFORE]
    deadline_s = time.monotonic() + _SETTLED_WITHIN_S
    while changes := HostState.read().changes_since(before):
        if time.monotonic() > deadline_s:
            raise LabError("the scenario has changed its host", tail="\n".join(changes))
        time.sleep(0.2)


def _scenario_of(item: pytest.Item | None) -> str:
    key = key_of(item) if item is not None else None
    return key.scenario if key is not None else ""
