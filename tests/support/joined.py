"""Channels to programs in this process; calls and responses pass as lines of JSON."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.serving import Answers
from tuneproof.lab.topology.program import Answered, Call, remote

P = ParamSpec("P")
T = TypeVar("T")


class Joined:
    """The lab's end of a channel to a program in this process."""

    def __init__(self, interface: type, program: object) -> None:
        self._answers = Answers(interface, program, expected=(LabError,))
        self.asked: list[Call] = []
        self.closed = False

    def ask(self, call: Call) -> Answered[Any]:
        self.asked.append(call)
        answered = call.parse_answer(json.loads(self._answers.answer(call.line(len(self.asked)))))
        if isinstance(answered, str):
            raise LabError(answered, where=call.function)
        return answered

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The lab's end of a channel to a program; the function ``answer`` returns the program's responses."""

    interface: type
    answer: Callable[[Call], object]
    took_s: float
    machine: MachineShares = field(default_factory=MachineShares)

    def ask(self, call: Call) -> Answered[Any]:
        def answer(**arguments: object) -> object:
            assert arguments == call.arguments
            return self.answer(call)

        program = SimpleNamespace(**{call.function: answer})
        return replace(Joined(self.interface, program).ask(call), took_s=self.took_s, machine=self.machine)


def joined(interface: type[T], program: object) -> T:
    """Return the lab's view of a program."""
    return remote(interface, Joined(interface, program))


def differences(interface: type, program: object) -> list[str]:
    """Return the functions with argument names that differ from the Protocol's; arguments are sent by name."""
    functions = inspect.getmembers(interface, lambda each: inspect.isfunction(each) and each.__name__[0] != "_")
    return [
        name
        for name, function in functions
        if [*inspect.signature(function).parameters][1:] != [*inspect.signature(getattr(program, name)).parameters]
    ]


def refused(function: Callable[P, object], /, *args: P.args, **given: P.kwargs) -> str:
    """Return the reason why a program refuses a call."""
    with pytest.raises(LabError) as caught:
        function(*args, **given)
    return caught.value.what
