"""The side of the containers: reads questions from standard input, and answers each on standard output."""

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeVar

from tuneproof.lab.protocol.codec import from_plain, to_plain
from tuneproof.lab.protocol.cpu_times import CpuTimes
from tuneproof.lab.protocol.messages import Question

Q = TypeVar("Q", bound=Question[Any])


class CannotDoError(Exception):
    """Something that cannot be done now, or not here, in words that need no name of an exception."""


class Answers:
    """What a program can do.

    Args:
        tells: Exceptions whose messages say enough, besides :class:`CannotDoError`; others are told with their names.
    """

    def __init__(self, *, tells: tuple[type[Exception], ...] = ()) -> None:
        self._tells: tuple[type[Exception], ...] = (CannotDoError, *tells)
        self._known: dict[str, tuple[type[Question[Any]], Callable[[Any], object]]] = {}

    def to(self, question: type[Q], does: Callable[[Q], object]) -> None:
        """Say what answers a kind of question; the answer is of the type that the question names."""
        self._known[question.__name__] = (question, does)

    def answer(self, line: str) -> str:
        """Return the answer to a line, whatever happens: the one who asks must hear of it, and not wait."""
        told: dict[str, Any] = {}
        before, began_s = CpuTimes.read(), time.monotonic()
        try:
            asked = json.loads(line)
            told["number"] = asked["number"]
            told["answer"] = self._do(asked["ask"], asked["of"])
        except self._tells as error:
            told["error"] = str(error)
        except Exception as error:  # noqa: BLE001 - see above
            traceback.print_exc(file=sys.stderr)
            told["error"] = f"{type(error).__name__}: {error}"
        told |= {"took_s": time.monotonic() - began_s, "machine": to_plain(CpuTimes.read().since(before))}
        return json.dumps(told)

    def serve(self, questions: Iterable[str], answers: IO[str]) -> None:
        """Answer lines until they end."""
        for line in questions:
            answers.write(f"{self.answer(line)}\n")
            answers.flush()

    def _do(self, name: str, plain: object) -> object:
        if name not in self._known:
            raise CannotDoError(f"there is no {name!r} here, only {', '.join(self._known)}")
        question, does = self._known[name]
        answer = does(from_plain(question, plain))
        if not isinstance(answer, question.answer_type()):
            raise TypeError(f"{name} was answered by {answer!r:.80}")
        return to_plain(answer)
