"""A session's leases and locks on its engines, and how it takes them again after an engine's restart."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import docker

from tuneproof.errors import EngineUnavailableError, LabError
from tuneproof.lab.engine.lease import Lease
from tuneproof.lab.topology.placed import Engine

BACK_WITHIN_S: Final = 120.0
"""How long a run waits for an engine that does not respond: a restart takes seconds."""
_PAUSE_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Reached:
    """An engine of the run, with a client for it."""

    engine: Engine
    client: docker.DockerClient


class Holdings:
    """Leases on all engines and, inside :meth:`locked`, their locks; thread-safe.

    Args:
        reached: The engines.
        lease: Takes the lease on an engine.
        lock: Takes the lock of an engine, and reports to the given function what it waits for.
    """

    def __init__(
        self,
        reached: Sequence[Reached],
        *,
        lease: Callable[[Reached], Lease],
        lock: Callable[[Reached, Callable[[str], None]], AbstractContextManager[None]],
    ) -> None:
        self._reached = reached
        self._lease = lease
        self._lock = lock
        self._leases = {item.engine: lease(item) for item in reached}
        self._locks: ExitStack | None = None
        self._taking = threading.Lock()

    @property
    def leases(self) -> Mapping[Engine, Lease]:
        """The leases by engine; an engine has a new one after a restart."""
        return self._leases

    def are_held(self) -> bool:
        """Return whether all engines respond and still have the leases."""
        return all(lease.is_held() for lease in self._leases.values())

    @contextmanager
    def locked(self, report: Callable[[str], None]) -> Iterator[None]:
        """Hold the locks of all engines inside the context."""
        with ExitStack() as locks:
            self._take_locks(locks, report)
            self._locks = locks
            try:
                yield
            finally:
                self._locks = None

    def take_again(self, report: Callable[[str], None]) -> None:
        """Take leases and locks again if they were lost in an engine's restart; do nothing if all are held.

        EngineUnavailableError: An engine does not respond within ``BACK_WITHIN_S``, or its lock is held for too
        long.
        """
        with self._taking:
            lost = [item for item in self._reached if not self._leases[item.engine].is_held()]
            for item in lost:
                report(f"engine {item.engine.label} stopped: waiting for it, {BACK_WITHIN_S:g} s at most")
                self._leases[item.engine] = self._taken_when_back(item)
            if lost and self._locks is not None:
                # A lock that survived the restart is still this session's, and is taken at once.
                self._take_locks(self._locks, report)

    def _taken_when_back(self, item: Reached) -> Lease:
        deadline_s = time.monotonic() + BACK_WITHIN_S
        while True:
            try:
                return self._lease(item)
            except (EngineUnavailableError, LabError) as error:
                if time.monotonic() >= deadline_s:
                    raise EngineUnavailableError(
                        f"engine {item.engine.label} did not come back within {BACK_WITHIN_S:g} s",
                        where=error.what,
                        remedy="start it again, then repeat the run; decided results are kept",
                    ) from error
            time.sleep(_PAUSE_S)

    def _take_locks(self, locks: ExitStack, report: Callable[[str], None]) -> None:
        # Everybody locks in the same order, to avoid deadlocks.
        for item in sorted(self._reached, key=lambda item: item.engine.node):
            locks.enter_context(self._lock(item, report))
