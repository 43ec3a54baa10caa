"""Functions in separate processes, so that they do not wait for each other's interpreter lock."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Final, Generic, TypeVar, cast

T = TypeVar("T")

# A forked child has this process's connections.
_FORK: Final = multiprocessing.get_context("fork")


class Child(Generic[T]):
    """A child process that runs one function, which gets the other end of :attr:`pipe`."""

    def __init__(self, work: Callable[[Connection], T]) -> None:
        self.pipe, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_run, args=(work, self.pipe, theirs))
        self._process.start()
        # Only the child's copy of the pipe remains, so that the child's end is noticed.
        theirs.close()

    def receive(self) -> Any:
        """Return the child's next message (ChildProcessError: it has ended; its traceback is on standard error)."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            raise ChildProcessError(f"a child process ended with status {self._process.exitcode}") from error

    def result(self) -> T:
        """Wait for the child's end and return its function's result (ChildProcessError: it failed)."""
        with self.pipe:
            result = self.receive()
        self._process.join()
        return cast("T", result)


def _run(work: Callable[[Connection], object], parents: Connection, own: Connection) -> None:
    parents.close()
    own.send(work(own))
