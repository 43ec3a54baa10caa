"""A program as an object: every call and its response arrive unchanged as lines of JSON."""

import enum
import importlib
import inspect
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pkgutil import iter_modules
from typing import Any

import pytest

from tuneproof.lab import protocol
from tuneproof.lab.protocol.codec import MalformedMessageError
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.protocol.http3 import Http3
from tuneproof.lab.protocol.loadgen import Gaps, Loadgen
from tuneproof.lab.protocol.netadmin import Agent
from tuneproof.lab.protocol.observer import Observer
from tuneproof.lab.protocol.scripted import Scripted
from tuneproof.lab.protocol.serving import Answers
from tuneproof.lab.protocol.standin import Standin
from tuneproof.lab.topology.program import Answered, Call, recorded_by, remote

FUNCTIONS = {
    f"{program.__name__}.{name}": (program, function)
    for program in (Agent, Http3, Loadgen, Observer, Scripted, Standin)
    for name, function in inspect.getmembers(program, inspect.isfunction)
    if name[0] != "_"
}


def example(wanted: Any, *, full: bool) -> Any:
    """Return a value of a type; unless ``full``, collections are empty and optional values None."""
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in {types.UnionType, typing.Union}:
        (other,) = (part for part in parts if part is not type(None))
        return example(other, full=full) if full else None
    if origin is Mapping:
        key, item = parts
        return {example(key, full=full): example(item, full=full)} if full else {}
    if origin is tuple:
        count = 2 if full else 0
        each = parts[:1] * count if parts[1:] == (...,) else parts
        return tuple(example(part, full=full) for part in each)
    if is_dataclass(wanted) or issubclass(wanted, tuple):
        values = {name: example(hint, full=full) for name, hint in typing.get_type_hints(wanted).items()}
        return wanted(**values)
    if issubclass(wanted, enum.StrEnum):
        return list(wanted)[-1]
    # These values differ from the types' defaults.
    return {str: "text", int: 7, float: 0.5, bool: True, type(None): None}[wanted]


@pytest.mark.parametrize("full", [True, False], ids=["full", "empty"])
@pytest.mark.parametrize(("program", "function"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_call_and_its_response_arrive_unchanged(program: type, function: Any, *, full: bool) -> None:
    hints = typing.get_type_hints(function)
    answer = example(hints.pop("return"), full=full)
    given = {name: example(hint, full=full) for name, hint in hints.items()}
    arrived: list[dict[str, Any]] = []

    def implementation(**arguments: Any) -> Any:
        arrived.append(arguments)
        return answer

    call = Call.of(function, **given)
    there = Answers(program, types.SimpleNamespace(**{function.__name__: implementation}))
    back = call.parse_answer(json.loads(there.answer(call.line(3))))
    assert arrived == [given]
    assert isinstance(back, Answered), back
    assert back.answer == answer


def test_messages_are_frozen_dataclasses_with_keyword_only_fields() -> None:
    modules = [importlib.import_module(f"{protocol.__name__}.{item.name}") for item in iter_modules(protocol.__path__)]
    found: set[Any] = {item for module in modules for item in vars(module).values() if is_dataclass(item)}
    assert len(found) > 30
    for message in found:
        assert message.__dataclass_params__.frozen, message
        assert all(field.kw_only for field in fields(message)), message


def test_omitted_arguments_have_the_defaults_of_the_protocol() -> None:
    """The evidence then contains these defaults. Arguments may be positional."""
    call = Call.of(Loadgen.http2, "172.18.0.2", 8000, streams=9)
    assert (call.function, call.arguments["path"]) == ("http2", "/")
    assert call == Call.of(Loadgen.http2, address="172.18.0.2", port=8000, streams=9)


def test_a_response_contains_its_duration_and_the_machines_cpu_shares() -> None:
    """A program may omit both."""
    plain: dict[str, Any] = {"number": 1, "answer": True}
    call = Call.of(Agent.status)
    assert call.parse_answer(plain) == Answered(answer=True, took_s=0.0, machine=MachineShares())
    timed = {**plain, "took_s": 2, "machine": {"busy_pct": 12.5, "steal_pct": 0.5}}
    machine = MachineShares(busy_pct=12.5, steal_pct=0.5)
    assert call.parse_answer(timed) == Answered(answer=True, took_s=2.0, machine=machine)


@pytest.mark.parametrize(
    ("call", "plain", "message"),
    [
        (Call.of(Agent.greet), {"number": 1}, r"greet is answered by \{'number': 1\}"),
        (Call.of(Agent.revive), {"answer": 7}, "revive is 7, which is not of type NoneType"),
        (Call.of(Agent.greet), {"answer": {}, "machine": {"idle": 1.0}}, "machine has no idle"),
        (Call.of(Agent.greet), {"answer": {}, "took_s": "long"}, "took_s is 'long', which is not of type float"),
    ],
    ids=["no-answer", "type-of-answer", "machine", "duration"],
)
def test_an_invalid_response_is_rejected(call: Call, plain: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedMessageError, match=message):
        call.parse_answer(plain)


GAPS = Gaps(lost_pct=3.0, longest_ms=12.5)


class Channel:
    """A channel with the same response to every call."""

    def __init__(self) -> None:
        self.asked: list[Call] = []

    def ask(self, call: Call) -> Answered[Any]:
        self.asked.append(call)
        return Answered(answer=GAPS, took_s=2.5, machine=MachineShares(steal_pct=0.5))


def test_a_program_has_exactly_the_methods_of_its_protocol() -> None:
    channel = Channel()
    program = remote(Loadgen, channel)
    assert program.gaps(0.5) == GAPS
    assert channel.asked == [Call.of(Loadgen.gaps, 0.5)]
    for name in ("dance", "_secret", "__len__"):
        with pytest.raises(AttributeError):
            getattr(program, name)
    with pytest.raises(TypeError, match="seconds"):
        program.gaps()  # type: ignore[call-arg] # mypy finds it, too
    assert len(channel.asked) == 1, "none of the other calls should be sent"


def test_a_listener_gets_each_call_with_its_response() -> None:
    calls: list[tuple[str, Any]] = []
    program = remote(Loadgen, Channel())
    recorded_by(lambda call, answered: calls.append((call.function, answered.answer)), program).gaps(0.5)
    program.release()
    assert calls == [("gaps", GAPS)]


@pytest.mark.parametrize(
    ("call", "lasts_s"),
    [
        (Call.of(Loadgen.gaps, 5.0), 5.0),
        (Call.of(Loadgen.flows, "172.18.0.2", 80, (Flow(timeout_s=3.0), Flow(timeout_s=90.0))), 93.0),
        (Call.of(Loadgen.tls_resume, "172.18.0.2", 443, (1, 4)), 2),
        (Call.of(Observer.turns, 12.5, 112.5), 100.0),
        (Call.of(Loadgen.release), 0.0),
    ],
    ids=lambda value: value.function if isinstance(value, Call) else "",
)
def test_the_duration_of_a_call_comes_from_its_protocol_and_its_arguments(call: Call, lasts_s: float) -> None:
    assert call.lasts_s == lasts_s
