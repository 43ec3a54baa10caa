"""Parts of a run that several engines take from one pile, each as soon as it has nothing to do.

An engine that is lost gives its part back; whoever is free takes it up.
"""

import threading
from collections.abc import Collection, Iterable, Iterator


class Pile:
    """The parts that nobody has taken yet; for several threads.

    Args:
        parts: Names of the parts, in the order in which they are taken.
        takers: Who will take them.
    """

    def __init__(self, parts: Iterable[str], takers: Collection[str]) -> None:
        self._open = list(parts)
        self._taken: dict[str, str] = {}
        self._left = set(takers)
        self._changed = threading.Condition()

    def parts_for(self, taker: str) -> Iterator[str]:
        """Yield parts until none is left, and none can come back: what others still work at may be given back."""
        while (part := self._next(taker)) is not None:
            yield part
            with self._changed:
                if self._taken.pop(part, None) is not None:
                    self._changed.notify_all()

    def give_back(self, taker: str) -> None:
        """Take a taker out of the game; the part that it had is open again."""
        with self._changed:
            self._left.discard(taker)
            for part, owner in list(self._taken.items()):
                if owner == taker:
                    del self._taken[part]
                    self._open.insert(0, part)
            self._changed.notify_all()

    @property
    def open_parts(self) -> tuple[str, ...]:
        """What nobody has done, once all takers have ended."""
        with self._changed:
            return tuple(self._open)

    def _next(self, taker: str) -> str | None:
        with self._changed:
            while not self._open and self._taken and taker in self._left:
                self._changed.wait()
            if not self._open or taker not in self._left:
                return None
            part = self._open.pop(0)
            self._taken[part] = taker
            return part
