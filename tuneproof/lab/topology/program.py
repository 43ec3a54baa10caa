"""A program in a container as an object: it has the methods of the typing.Protocol that the program implements.

``remote(Observer, channel).sysctl("net.core.somaxconn")`` is type-checked like any other call, and sent as a line of
JSON. Calls are numbered, so that a late response is recognised.
"""

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, cast

from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.lasting import lasts_s

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Answered(Generic[A]):
    """A response, and how long it took."""

    answer: A
    took_s: float  # how long the program took
    machine: MachineShares  # what the machine's CPUs did during the call


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a program's function."""

    function: str
    arguments: Mapping[str, Any]
    returns: Any  # type of the result
    lasts_s: float = 0.0  # how long it may take

    @classmethod
    def of(cls, function: Callable[..., Any], /, *args: object, **given: object) -> Self:
        """Return the call of a Protocol's function with these arguments (TypeError: they do not fit the function)."""
        bound = inspect.signature(function).bind(None, *args, **given)
        bound.apply_defaults()
        _, *rest = bound.arguments.items()
        arguments = dict(rest)
        return cls(
            function=function.__name__,
            arguments=arguments,
            returns=typing.get_type_hints(function)["return"],
            lasts_s=lasts_s(function, arguments),
        )

    def line(self, number: int) -> str:
        """Return the line that the program reads, without the line break."""
        return json.dumps({"number": number, "call": self.function, "with": to_plain(self.arguments)})

    def parse_answer(self, plain: Mapping[str, Any]) -> Answered[Any] | str:
        """Parse a line: the response, or the program's error message if the call failed.

        Raises MalformedMessageError: it is neither.
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


class Asks(Protocol):
    """Something that carries calls to a program, such as a :class:`tuneproof.lab.topology.channel.Channel`."""

    def ask(self, call: Call, /) -> Answered[Any]:
        """Return the response (LabError: there is none)."""


OnCall = Callable[[Call, Answered[Any]], object]


@dataclass(frozen=True)
class _Remote:
    """A program's methods as an object; a method must not have the name of one of the fields below."""

    _interface: type
    _channel: Asks
    _on_call: OnCall | None

    def __getattr__(self, name: str) -> "_Function":
        return _Function(function=getattr(self._interface, name), channel=self._channel, on_call=self._on_call)


@dataclass(frozen=True, kw_only=True)
class _Function:
    function: Callable[..., Any]
    channel: Asks
    on_call: OnCall | None

    def __call__(self, *args: object, **given: object) -> object:
        return self.timed(*args, **given).answer

    def timed(self, *args: object, **given: object) -> Answered[Any]:
        call = Call.of(self.function, *args, **given)
        answered = self.channel.ask(call)
        if self.on_call is not None:
            self.on_call(call, answered)
        return answered


def remote(interface: type[T], channel: Asks) -> T:
    """Return the program at the other end of a channel as an object with the methods of its Protocol.

    Its methods raise LabError: the call failed, or the program did not respond.
    """
    return cast("T", _Remote(interface, channel, None))


def recorded_by(on_call: OnCall, program: T) -> T:
    """Return the same program as an object that also passes each call and response to a function."""
    return cast("T", replace(cast("Any", program), _on_call=on_call))


def timed(function: Callable[P, A], /, *args: P.args, **given: P.kwargs) -> Answered[A]:
    """Call a method of a program, as in ``timed(client.storm, address, port, 100, 1.0)``; return its time, too."""
    return cast("_Function", function).timed(*args, **given)
