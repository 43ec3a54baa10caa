"""A pool of a run's parts; each of several engines takes the next part as soon as it is idle.

If an engine is lost, its part goes back to the pool, and a free engine takes it. An engine that is much noisier than
others can step aside.
"""

import statistics
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tuneproof.proof.scenario.host_noise import is_noisy_beside
from tuneproof.report.results.cells import Cell


@dataclass(frozen=True, kw_only=True)
class Part:
    """A shard of the run, such as ``2/8``."""

    shard: str

    def __str__(self) -> str:
        return self.shard


class Pile:
    """The parts that no engine has taken yet; thread-safe."""

    def __init__(self, parts: Iterable[Part], takers: Collection[str]) -> None:
        self._open = list(parts)
        self._taken: dict[Part, str] = {}
        self._left = set(takers)
        self._aside: set[str] = set()
        self._changed = threading.Condition()

    def parts_for(self, taker: str) -> Iterator[Part]:
        """Yield parts until none is left and no other engine can return one."""
        while (part := self._next(taker)) is not None:
            yield part
            with self._changed:
                if self._taken.get(part) == taker:
                    del self._taken[part]
                    self._changed.notify_all()

    def give_back(self, taker: str) -> None:
        """Unregister an engine; its part becomes available again."""
        with self._changed:
            self._left.discard(taker)
            for part, owner in list(self._taken.items()):
                if owner == taker:
                    del self._taken[part]
                    self._open.insert(0, part)
            self._changed.notify_all()

    def step_aside(self, taker: str) -> None:
        """Give an engine no further parts unless all others are gone or have stepped aside as well."""
        with self._changed:
            self._aside.add(taker)
            self._changed.notify_all()

    @property
    def open_parts(self) -> tuple[Part, ...]:
        """The parts that are not taken at the moment."""
        with self._changed:
            return tuple(self._open)

    def _next(self, taker: str) -> Part | None:
        with self._changed:
            while taker in self._left and self._must_wait(taker):
                self._changed.wait()
            if not self._open or taker not in self._left:
                return None
            part = self._open.pop(0)
            self._taken[part] = taker
            return part

    def _must_wait(self, taker: str) -> bool:
        if not self._open:
            return bool(self._taken)
        return taker in self._aside and not self._left <= self._aside


def noise_of(cells: Iterable[Cell]) -> float | None:
    """Return the median of the cells' shares of CPU time that a spinning process lost, in percent; None if unknown."""
    lost_pct = [cell.host_noise["lost_p50_pct"] for cell in cells if cell.host_noise]
    return statistics.median(lost_pct) if lost_pct else None


def calmer_than(engine: str, noise_pct: Mapping[str, float]) -> str | None:
    """Return the calmest engine if this one is too noisy compared with it; None if this one may continue."""
    calmest = min(noise_pct, key=noise_pct.__getitem__)
    return calmest if is_noisy_beside(noise_pct[engine], noise_pct[calmest]) else None
