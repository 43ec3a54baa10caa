"""The containers' side of calls: reads them from standard input, and writes the responses to standard output."""

import inspect
import json
import sys
import time
import traceback
import typing
from collections.abc import Iterable
from typing import IO, Any

from tuneproof.lab.protocol.codec import fields_from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import CpuTimes


class CannotDoError(Exception):
    """Something is not possible now, or not here; the message is complete without the exception's name."""


class Answers:
    """Calls the functions of a program.

    interface: the program's protocol; nothing else can be called.
    expected: exceptions whose messages are complete without their names, in addition to :class:`CannotDoError`.
    """

    def __init__(self, interface: type, program: object, *, expected: tuple[type[Exception], ...] = ()) -> None:
        self._program = program
        self._expected: tuple[type[Exception], ...] = (CannotDoError, *expected)
        self._functions = {
            name: function for name, function in inspect.getmembers(interface, inspect.isfunction) if name[0] != "_"
        }

    def answer(self, line: str) -> str:
        """Return the response to a line, even after an error: the caller waits for one."""
        response: dict[str, Any] = {}
        before, began_s = CpuTimes.read(), time.monotonic()
        try:
            asked = json.loads(line)
            response["number"] = asked["number"]
            response["answer"] = to_plain(self._call(asked["call"], asked["with"]))
        except self._expected as error:
            response["error"] = str(error)
        except Exception as error:  # noqa: BLE001 - see above
            traceback.print_exc(file=sys.stderr)
            response["error"] = f"{type(error).__name__}: {error}"
        response |= {"took_s": time.monotonic() - began_s, "machine": to_plain(CpuTimes.read().since(before))}
        return json.dumps(response)

    def serve(self, calls: Iterable[str], answers: IO[str]) -> None:
        """Answer each line until the input ends."""
        for line in calls:
            answers.write(f"{self.answer(line)}\n")
            answers.flush()

    def _call(self, name: str, given: object) -> object:
        if name not in self._functions:
            raise CannotDoError(f"there is no {name!r} here, only {', '.join(self._functions)}")
        wanted = {key: hint for key, hint in typing.get_type_hints(self._functions[name]).items() if key != "return"}
        arguments = fields_from_plain(wanted, given, needed=wanted, place=name)
        return getattr(self._program, name)(**arguments)
