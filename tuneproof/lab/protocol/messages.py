"""Calls of a program's functions: a line of JSON each, numbered, so that an answer that comes too late is known.

What a program can do is a typing.Protocol that the program implements: :func:`call` takes one of its functions and
what it is called with, and both are checked like any other call.
"""

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import MachineShares

A = TypeVar("A")
P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True)
class Answered(Generic[A]):
    """An answer and what belongs to no answer's content."""

    answer: A
    took_s: float  # how long it took the program
    machine: MachineShares  # what the whole machine's CPUs did meanwhile


@dataclass(frozen=True, kw_only=True)
class Call(Generic[A]):
    """A function of a program in a container, what it is called with, and the type of what it returns."""

    function: str
    arguments: Mapping[str, Any]
    returns: type[A]

    def line(self, number: int) -> str:
        """Return it as a program reads it, without the end of the line."""
        return json.dumps({"number": number, "call": self.function, "with": to_plain(self.arguments)})

    def parse_answer(self, plain: Mapping[str, Any]) -> Answered[A] | str:
        """Return the answer from its line; what went wrong in words, if the program could not do it.

        Raises MalformedMessageError: it answers something else.
        """
        if "error" in plain:
            return str(plain["error"])
        if "answer" not in plain:
            raise MalformedMessageError(f"{self.function} is answered by {plain!r:.80}")
        return Answered(
            answer=from_plain(self.returns, plain["answer"], place=self.function),
            took_s=from_plain(float, plain.get("took_s", 0.0), place="took_s"),
            machine=from_plain(MachineShares, plain.get("machine", {}), place="machine"),
        )


def call(function: Callable[Concatenate[Any, P], A], /, *args: P.args, **given: P.kwargs) -> Call[A]:
    """Return the call of a program's function, such as ``call(Observer.sysctl, "net.core.somaxconn")``."""
    bound = inspect.signature(function).bind(None, *args, **given)
    bound.apply_defaults()
    _, *arguments = bound.arguments.items()
    returns = typing.get_type_hints(function)["return"]
    return Call(function=function.__name__, arguments=dict(arguments), returns=returns)
