"""The containers' side of calls: every line gets a response."""

import io
import json
import types
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from tuneproof.lab.protocol import serving
from tuneproof.lab.protocol.cpu_times import CpuTimes, MachineShares
from tuneproof.lab.protocol.serving import Answers, CannotDoError
from tuneproof.lab.topology.program import Answered, Call


class Adder(Protocol):
    def add(self, numbers: tuple[int, ...]) -> int: ...

    def forget(self) -> None: ...


class DataError(Exception):
    """An expected error, which is reported without its type and without a traceback."""


class Program(Adder):
    def add(self, numbers: tuple[int, ...]) -> int:
        refused: dict[int, Exception] = {
            -1: CannotDoError("there is no -1 here"),
            -2: DataError("-2 is no data"),
            -3: ZeroDivisionError("-3"),
        }
        for number in numbers:
            if number in refused:
                raise refused[number]
        return sum(numbers)

    def forget(self) -> None:
        pass

    def secret(self) -> None:
        """This is not in the protocol, so it cannot be called."""


FORGET = Call.of(Adder.forget)


@pytest.fixture
def program() -> Answers:
    return Answers(Adder, Program(), expected=(DataError,))


def answered(program: Answers, *lines: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    program.serve([f"{line}\n" for line in lines], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_response_has_the_number_of_its_call(program: Answers) -> None:
    call = Call.of(Adder.add, (1, 2))
    first, second = answered(program, call.line(7), FORGET.line(9))
    assert (first["number"], first["answer"]) == (7, 3)
    assert (second["number"], second["answer"]) == (9, None)
    read = call.parse_answer(first)
    assert isinstance(read, Answered)
    assert read.answer == 3


def test_each_response_is_sent_before_the_next_call_is_read(program: Answers) -> None:
    flushed: list[str] = []

    class Out(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    out = Out()

    def calls() -> Iterator[str]:
        yield FORGET.line(1)
        assert flushed[-1].count("\n") == 1
        yield FORGET.line(2)
        assert flushed[-1].count("\n") == 2

    program.serve(calls(), out)
    assert len(flushed) == 2


def test_each_response_contains_its_duration_and_the_machines_cpu_shares(
    program: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 102.5])
    times = iter([CpuTimes(jiffies=(0,) * 8), CpuTimes(jiffies=(60, 0, 10, 20, 0, 0, 0, 10))])
    monkeypatch.setattr(serving, "time", types.SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(CpuTimes, "read", times.__next__)
    (response,) = answered(program, FORGET.line(1))
    assert response["took_s"] == 2.5
    assert response["machine"] == {"busy_pct": 70.0, "steal_pct": 10.0}


@pytest.mark.parametrize(
    ("number", "error", "is_traced"),
    [(-1, "there is no -1 here", False), (-2, "-2 is no data", False), (-3, "ZeroDivisionError: -3", True)],
    ids=["cannot-do", "expected", "unexpected"],
)
def test_an_error_gets_a_response_and_the_next_call_is_handled(
    number: int, error: str, program: Answers, capsys: pytest.CaptureFixture[str], *, is_traced: bool
) -> None:
    failed, done = answered(program, Call.of(Adder.add, (number,)).line(7), FORGET.line(8))
    assert (failed["number"], failed["error"]) == (7, error)
    assert "answer" not in failed
    assert failed.keys() == {"number", "error", "took_s", "machine"}
    assert (done["number"], done["answer"]) == (8, None)
    assert ("Traceback" in capsys.readouterr().err) == is_traced
    (unnamed,) = answered(Answers(Adder, Program()), Call.of(Adder.add, (-2,)).line(1))
    assert unnamed["error"] == "DataError: -2 is no data", "an error that is not in ``expected`` should have its type"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"number": 7, "call": "secret", "with": {}}', "there is no 'secret' here, only add, forget"),
        ('{"number": 7, "call": "__init__", "with": {}}', "there is no '__init__' here, only add, forget"),
        ('{"number": 7, "call": "add", "with": {}}', "MalformedMessageError: add lacks numbers"),
        (
            '{"number": 7, "call": "add", "with": {"numbers": [true]}}',
            "MalformedMessageError: add.numbers[] is True, which is not of type int",
        ),
        ('{"number": 7, "with": {}}', "KeyError: 'call'"),
        ('{"number": 7, "call": "forget"}', "KeyError: 'with'"),
    ],
    ids=["not-public", "special", "missing", "wrong-type", "no-name", "no-fields"],
)
def test_an_invalid_call_gets_a_response(line: str, error: str, program: Answers) -> None:
    """The caller waits for a response with its call's number."""
    failed, done = answered(program, line, FORGET.line(8))
    assert (failed["number"], failed["error"]) == (7, error)
    assert done["answer"] is None


@pytest.mark.parametrize("line", ["{", "", "[]", "7"], ids=["half", "empty", "list", "number"])
def test_a_line_without_a_call_is_answered_without_a_number(line: str, program: Answers) -> None:
    failed, done = answered(program, line, FORGET.line(8))
    assert "number" not in failed
    assert failed["error"]
    assert done["number"] == 8


def test_cpu_times_leave_out_the_columns_for_guests() -> None:
    """User time already includes guest time. The first line is for all CPUs."""
    text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n"
    times = CpuTimes.parse(text)
    assert times == CpuTimes(jiffies=(1, 2, 3, 4, 5, 6, 7, 8))
    assert times.since(times) == MachineShares(), "there are no shares without elapsed time"
    assert len(CpuTimes.read().jiffies) == 8
