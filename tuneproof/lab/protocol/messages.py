"""Questions and answers: a line of JSON each, numbered, so that an answer that comes too late is known as such."""

import json
import typing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import MachineShares

A = TypeVar("A")


class Question(Generic[A]):
    """Something to be done by a program in a container; a frozen dataclass that names the type of its answer."""

    @classmethod
    def answer_type(cls) -> type[A]:
        """Return A, of the class that was derived from this one."""
        bases = (base for each in cls.__mro__ for base in each.__dict__.get("__orig_bases__", ()))
        base = next(base for base in bases if _is_question(base))
        answer: type[A] = typing.get_args(base)[0]
        return answer

    @property
    def kind(self) -> str:
        """What it is called where it is asked, and in messages."""
        return type(self).__name__

    def line(self, number: int) -> str:
        """Return it as a program reads it, without the end of the line."""
        return json.dumps({"number": number, "ask": self.kind, "of": to_plain(self)})


@dataclass(frozen=True, kw_only=True)
class Done:
    """The answer of what has nothing to tell."""


@dataclass(frozen=True, kw_only=True)
class Answered(Generic[A]):
    """An answer and what belongs to no answer's content.

    Attributes:
        answer: The answer.
        took_s: How long it took the program.
        machine: What the whole machine's CPUs did meanwhile.
    """

    answer: A
    took_s: float
    machine: MachineShares


def parse_answer(question: Question[A], plain: dict[str, Any]) -> Answered[A] | str:
    """Return an answer from its line; what went wrong in words, if the program could not do it.

    Raises:
        MalformedMessageError: It answers something else.
    """
    if "error" in plain:
        return str(plain["error"])
    if "answer" not in plain:
        raise MalformedMessageError(f"{question.kind} is answered by {plain!r:.80}")
    return Answered(
        answer=from_plain(question.answer_type(), plain["answer"]),
        took_s=from_plain(float, plain.get("took_s", 0.0)),
        machine=from_plain(MachineShares, plain.get("machine", {})),
    )


def _is_question(base: object) -> bool:
    return typing.get_origin(base) is Question
