"""A load in a process of its own, so that the interpreter's lock does not let two loads disturb each other."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Generic, TypeVar

from tuneproof.lab.protocol.codec import from_plain, to_plain

T = TypeVar("T")


class Background(Generic[T]):
    """A forked child that runs one function and returns its result through a pipe.

    result_type: type of the result; see the codec.
    """

    def __init__(self, work: Callable[[], T], result_type: type[T]) -> None:
        self._result_type = result_type
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(reader)
            os._exit(_run(work, writer))
        os.close(writer)
        self._reader = reader

    def result(self) -> T:
        """Wait for the child and return its result.

        Raises ChildProcessError: the child failed; its traceback is on standard error.
        """
        with os.fdopen(self._reader, "rb") as stream:
            raw = stream.read()
        _, status = os.waitpid(self._pid, 0)
        if status:
            raise ChildProcessError(f"a load's process ended with status {os.waitstatus_to_exitcode(status)}")
        return from_plain(self._result_type, json.loads(raw))


def _run(work: Callable[[], object], writer: int) -> int:
    try:
        with os.fdopen(writer, "wb") as stream:
            stream.write(json.dumps(to_plain(work())).encode())
    except Exception:  # noqa: BLE001 - the parent must learn of any error, and not hang
        traceback.print_exc(file=sys.stderr)
        return 1
    return 0
