"""A connection to a program in a container, with the test at the other end of the socket."""

import json
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Protocol

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.topology import channel as channel_module
from tuneproof.lab.topology.channel import Channel
from tuneproof.lab.topology.program import Call

STDOUT, STDERR = 1, 2


class Adder(Protocol):
    def add(self, numbers: tuple[int, ...]) -> int: ...


ASKED = Call.of(Adder.add, (1, 2))


class Talk:
    """Both ends of a connection: the lab's channel, and the program's socket."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.status: int | None = None
        self.channel = Channel(ours, name="netadmin-client", program="adder", status=lambda: self.status)

    def say(self, *messages: object) -> None:
        self.print("".join(f"{json.dumps(message)}\n" for message in messages).encode())

    def print(self, output: bytes, *, stream: int = STDOUT) -> None:
        """Send output of the program in one of the engine's frames."""
        self.theirs.sendall(struct.pack(">BxxxL", stream, len(output)) + output)

    def close(self) -> None:
        self.channel.close()
        self.theirs.close()


@pytest.mark.parametrize("has_socket", [False, True], ids=["over TLS", "over a unix socket"])
def test_docker_pys_response_is_closed_last(*, has_socket: bool) -> None:
    """Over TLS, only the response closes the connection; Python 3.13 warns about a socket that is left open."""
    closed: list[str] = []

    def closing(name: str, **more: object) -> SimpleNamespace:
        return SimpleNamespace(close=lambda: closed.append(name), **more)

    stream = closing("stream", _response=closing("response"), **({"_sock": closing("socket")} if has_socket else {}))
    Channel(stream, name="far", program="adder", status=lambda: None).close()
    assert closed == ["stream", *(["socket"] if has_socket else []), "response"]


@pytest.fixture
def talk() -> Iterator[Talk]:
    opened = Talk()
    yield opened
    opened.close()


def test_calls_are_numbered_lines_and_responses_have_their_type(talk: Talk) -> None:
    talk.say({"number": 1, "answer": 3}, {"number": 2, "answer": 7})
    assert talk.channel.ask(ASKED).answer == 3
    assert talk.channel.ask(Call.of(Adder.add, (3, 4))).answer == 7
    assert [json.loads(line) for line in talk.theirs.recv(65536).splitlines()] == [
        {"number": 1, "call": "add", "with": {"numbers": [1, 2]}},
        {"number": 2, "call": "add", "with": {"numbers": [3, 4]}},
    ]


@pytest.mark.parametrize(
    "before",
    [{"ready_s": 0.5}, {"error": "no wire here"}, {"number": 0, "answer": 99}, {"number": 7, "error": "late"}],
    ids=["unrequested", "unrequested-error", "late-answer", "another-calls-error"],
)
def test_responses_to_other_calls_are_skipped(before: dict[str, object], talk: Talk) -> None:
    talk.say(before, {"number": 1, "answer": 3})
    assert talk.channel.ask(ASKED).answer == 3


def test_the_rest_of_a_line_from_before_the_connection_is_skipped(talk: Talk) -> None:
    talk.print(b'ady_s": 0.5}\n[1]\n{"number": 1, "answer": 3}\n')
    assert talk.channel.ask(ASKED).answer == 3


def test_a_response_may_arrive_in_pieces_with_standard_error_in_between(talk: Talk) -> None:
    """The engine may split output anywhere. Standard error is not part of a response."""
    talk.print(b'{"number": 1, "ans')
    talk.print(b"a warning\n", stream=STDERR)
    talk.print(b'wer": 3}\n{"number": 2,')
    talk.print(b' "answer": 4}\n')
    assert [talk.channel.ask(ASKED).answer, talk.channel.ask(ASKED).answer] == [3, 4]


def test_a_failed_call_is_an_error_with_the_programs_message(talk: Talk) -> None:
    talk.say({"number": 1, "error": "these are not numbers"}, {"number": 2, "answer": 3})
    with pytest.raises(LabError) as caught:
        talk.channel.ask(ASKED)
    assert (caught.value.what, caught.value.where) == ("these are not numbers", "container netadmin-client, add")
    assert talk.channel.ask(ASKED).answer == 3


def test_a_response_of_another_type_is_an_error(talk: Talk) -> None:
    talk.print(b"first\nlast\n", stream=STDERR)
    talk.say({"number": 1, "answer": "3"})
    with pytest.raises(LabError, match="add is '3', which is not of type int") as caught:
        talk.channel.ask(ASKED)
    assert caught.value.where == "container netadmin-client"
    assert caught.value.tail == "first\nlast"


def test_the_end_of_a_program_is_an_error_with_its_status(talk: Talk) -> None:
    talk.print(b"".join(b"line %d\n" % number for number in range(100)), stream=STDERR)
    talk.print(b"no python3 in $PATH\n")
    talk.status = 3
    # The output of the program ends, but its input stays open.
    talk.theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(LabError, match="adder ended with status 3") as caught:
        talk.channel.ask(ASKED)
    assert caught.value.tail == "\n".join([*(f"line {number}" for number in range(81, 100)), "no python3 in $PATH"])


def test_a_program_that_stays_silent_is_an_error(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow calls and slow machines get more time. A late response is skipped."""
    monkeypatch.setattr(channel_module, "_SPARE_S", 0.01)
    talk.channel.patience = 3.0
    with pytest.raises(LabError, match=r"adder did not answer within 0\.09 s"):
        talk.channel.ask(replace(ASKED, lasts_s=0.02))
    talk.say({"number": 1, "answer": 99}, {"number": 2, "answer": 3})
    assert talk.channel.ask(replace(ASKED, lasts_s=30.0)).answer == 3


def test_a_part_of_a_frame_that_arrived_before_a_timeout_is_kept(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this part, all later output would be misread."""
    monkeypatch.setattr(channel_module, "_SPARE_S", 0.01)
    output = b'{"number": 1, "answer": 99}\n{"number": 2, "answer": 3}\n'
    frame = struct.pack(">BxxxL", STDOUT, len(output)) + output
    talk.theirs.sendall(frame[:20])
    with pytest.raises(LabError, match="did not answer"):
        talk.channel.ask(ASKED)
    talk.theirs.sendall(frame[20:])
    assert talk.channel.ask(replace(ASKED, lasts_s=30.0)).answer == 3


def test_a_program_that_does_not_accept_calls_is_an_error(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "_SPARE_S", 0.01)
    with pytest.raises(LabError, match=r"adder accepted no call within 0\.01 s"):
        talk.channel.ask(Call.of(Adder.add, (10**18,) * 100_000))
