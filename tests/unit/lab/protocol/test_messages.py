"""Every question names the type of its answer, and both survive their way as lines of JSON."""

import importlib
import inspect
import json
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from tuneproof.lab import protocol
from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.links import Greet, Greeting, LinkStatus, ReadStatus
from tuneproof.lab.protocol.messages import Answered, Done, Question, parse_answer
from tuneproof.lab.protocol.observer import Print, ReadSockets


def _questions() -> Iterator[type[Question[Any]]]:
    """Yield every question of the protocol."""
    for module in pkgutil.iter_modules(protocol.__path__, f"{protocol.__name__}."):
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(found, Question) and found is not Question and found.__module__ == module.name:
                yield found


QUESTIONS = {question.__name__: question for question in _questions()}


def example(wanted: Any, *, full: bool) -> Any:
    """Return a value of a type; one that is not full has only what it must have."""
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
    # Not what these types are without a value.
    return {str: "text", int: 7, float: 0.5, bool: True}[wanted]


def test_the_questions_of_all_programs_are_found() -> None:
    """Or the tests below would run over nothing; each has a name of its own, by which it is asked."""
    assert len(list(_questions())) == len(QUESTIONS) > 30
    assert {"Shape", "ReadWorkers", "Go", "Hold", "RunFlows"} <= QUESTIONS.keys()


@pytest.mark.parametrize("full", [True, False], ids=["full", "empty"])
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_and_its_answer_arrive_as_they_were(question: type[Question[Any]], full: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """With all that they may have, and with nothing but what they must have."""
    asked = example(question, full=full)
    read = json.loads(asked.line(3))
    assert (read["number"], read["ask"]) == (3, question.__name__)
    assert from_plain(question, read["of"]) == asked
    answer_type = question.answer_type()
    assert is_dataclass(answer_type)
    answer = example(answer_type, full=full)
    line = json.dumps({"number": 3, "answer": to_plain(answer)})
    arrived = parse_answer(asked, json.loads(line))
    assert isinstance(arrived, Answered)
    assert arrived.answer == answer


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_questions_and_answers_cannot_be_changed(question: type[Question[Any]]) -> None:
    """They are values, made by the names of their fields."""
    kinds: tuple[Any, ...] = (question, question.answer_type())
    for kind in kinds:
        assert kind.__dataclass_params__.frozen
        assert all(each.kw_only for each in fields(kind))


def test_a_question_is_one_line() -> None:
    """Whatever its texts have in them."""
    asked = Print(what='two\nlines and "quotes"')
    assert "\n" not in asked.line(1)
    assert json.loads(asked.line(1))["of"] == {"what": 'two\nlines and "quotes"'}


def test_an_answer_has_its_time_and_the_machines_shares() -> None:
    """A program that measures neither may leave them out."""
    plain: dict[str, Any] = {"number": 1, "answer": {"alive": True}}
    alive = LinkStatus(alive=True)
    assert parse_answer(ReadStatus(), plain) == Answered(answer=alive, took_s=0.0, machine=MachineShares())
    timed = {**plain, "took_s": 2, "machine": {"busy_pct": 12.5, "steal_pct": 0.5}}
    machine = MachineShares(busy_pct=12.5, steal_pct=0.5)
    assert parse_answer(ReadStatus(), timed) == Answered(answer=alive, took_s=2.0, machine=machine)


def test_what_could_not_be_done_is_told_in_words() -> None:
    """Whatever else is in the line."""
    plain = {"number": 1, "error": "no wire was raised", "answer": {}, "took_s": 0.1}
    assert parse_answer(Greet(), plain) == "no wire was raised"


@pytest.mark.parametrize(
    ("question", "plain", "message"),
    [
        (Greet(), {"number": 1}, r"Greet is answered by \{'number': 1\}"),
        (Greet(), {"answer": None}, "Greeting is None, which is no dict"),
        (Greet(), {"answer": {"ready_s": "soon"}}, "Greeting.ready_s is 'soon', which is no float"),
        (Greet(), {"answer": {"alive": True}}, "Greeting has no alive"),
        (
            ReadSockets(port=8000),
            {"answer": {"listeners": []}},
            "SocketCounts lacks local, others, send_queue_bytes, unread_bytes",
        ),
        (Greet(), {"answer": {}, "machine": {"idle": 1.0}}, "MachineShares has no idle"),
    ],
    ids=["nothing", "null", "wrong-type", "another-answer", "half-an-answer", "machine"],
)
def test_the_answer_to_something_else_is_refused(question: Question[Any], plain: dict[str, Any], message: str) -> None:
    """With the place and what stands there."""
    with pytest.raises(MalformedMessageError, match=message):
        parse_answer(question, plain)


def test_nothing_to_tell_is_an_answer_too() -> None:
    """It is told apart from no answer."""
    assert from_plain(Done, to_plain(Done())) == Done()
    assert from_plain(Greeting, {}) == Greeting()
