"""A channel whose other end is a program in this process: calls and answers pass as lines of JSON."""

import json
from typing import Any, TypeVar

from tuneproof.errors import LabError
from tuneproof.lab.protocol.messages import Answered, Call
from tuneproof.lab.protocol.serving import Answers

A = TypeVar("A")


class Joined:
    """The lab's end."""

    def __init__(self, interface: type, program: object) -> None:
        self._answers = Answers(interface, program)
        self.asked: list[Call[Any]] = []
        self.lasts_s: list[float] = []  # how long doing it takes at least, as it was told
        self.closed = False

    def ask(self, asked: Call[A], *, lasts_s: float = 0.0) -> A:
        return self.timed(asked, lasts_s=lasts_s).answer

    def timed(self, asked: Call[A], *, lasts_s: float = 0.0) -> Answered[A]:
        self.asked.append(asked)
        self.lasts_s.append(lasts_s)
        answered = asked.parse_answer(json.loads(self._answers.answer(asked.line(len(self.asked)))))
        if isinstance(answered, str):
            raise LabError(answered, where=asked.function)
        return answered

    def close(self) -> None:
        self.closed = True
