"""A load in a process of its own, so that the interpreter's lock does not let two loads disturb each other."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Generic, TypeVar, cast

T = TypeVar("T")

# A forked child has this process's connections.
_FORK = multiprocessing.get_context("fork")


class Background(Generic[T]):
    """A forked child that runs one function and returns its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._results, writer = _FORK.Pipe(duplex=False)
        self._process = _FORK.Process(target=_run, args=(work, writer))
        self._process.start()
        # Only the child's copy is left, so that its end is noticed.
        writer.close()

    def result(self) -> T:
        """Wait for the child and return its result.

        Raises ChildProcessError: the child failed; its traceback is on standard error.
        """
        with self._results:
            try:
                result = self._results.recv()
            except (EOFError, OSError):
                # The child's status says why nothing, or only a part, has come.
                result = None
        self._process.join()
        if self._process.exitcode:
            raise ChildProcessError(f"a load's process ended with status {self._process.exitcode}")
        return cast("T", result)


def _run(work: Callable[[], object], writer: Connection) -> None:
    writer.send(work())
