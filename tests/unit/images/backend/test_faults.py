"""Faults of upstreams: broken responses, no response, a full accept queue, errors from name servers."""

import asyncio
import socket
from collections.abc import Coroutine, Iterator
from contextlib import closing
from typing import Any

import pytest

from images.backend.scripted.faults import Faults
from tests.support.fake_nginx import HANG_S
from tests.support.loops import running_loop
from tests.support.questions import question
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol.scripted import BROKEN_PORT, DNS_ERROR_PORTS, FULL_PORT, SILENT_PORT, Then

HOST = "127.0.0.1"


class Serving:
    """Faults on a separate event loop, and on free ports of this machine instead of the lab's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        for self._first_port in range(29_100, 32_000, 200):
            self.faults = Faults()
            try:
                self._run(self.faults.serve(HOST, first_port=self._first_port))
            except OSError:
                self.close()
            else:
                return
        raise AssertionError("no free ports")

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def say(self, text: str, then: Then) -> None:
        self._run(self.faults.say(text, then))

    def close(self) -> None:
        self._run(self.faults.close())

    def address_of(self, port: int) -> tuple[str, int]:
        return HOST, port - BROKEN_PORT + self._first_port

    def connected(self, port: int, *, timeout_s: float = HANG_S) -> socket.socket:
        return socket.create_connection(self.address_of(port), timeout=timeout_s)


@pytest.fixture(name="serving", scope="module")
def serving_fixture() -> Iterator[Serving]:
    with running_loop() as loop, closing(Serving(loop)) as serving:
        yield serving


@pytest.mark.parametrize(
    ("text", "then"), [("\x01half", Then.CLOSES), ("", Then.RESETS), ("half", Then.STAYS)], ids=str
)
def test_a_broken_server_sends_the_given_text_then_ends_or_stays(serving: Serving, text: str, then: Then) -> None:
    serving.say(text, then)
    with serving.connected(BROKEN_PORT) as connection:
        connection.sendall(b"anything")
        assert connection.recv(100 if text else 0) == text.encode()
        connection.settimeout(0.2 if then is Then.STAYS else HANG_S)
        if then is Then.CLOSES:
            assert connection.recv(100) == b""
        else:
            with pytest.raises(ConnectionResetError if then is Then.RESETS else TimeoutError):
                connection.recv(100)


def test_a_silent_server_is_silent_until_the_next_trial(serving: Serving) -> None:
    with serving.connected(SILENT_PORT) as connection:
        connection.sendall(b"anything")
        wait_until(lambda: bool(serving.faults._silent), "the connection was not accepted")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        serving.say("", Then.CLOSES)
        connection.settimeout(HANG_S)
        assert connection.recv(100) == b""


def test_a_server_with_a_full_queue_does_not_answer_further_connections(serving: Serving) -> None:
    with pytest.raises(TimeoutError):
        serving.connected(FULL_PORT, timeout_s=0.3)


@pytest.mark.parametrize("code", DNS_ERROR_PORTS)
def test_a_name_server_answers_with_an_error(serving: Serving, code: int) -> None:
    query = question("app.test", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(HANG_S)
        client.sendto(query, serving.address_of(DNS_ERROR_PORTS[code]))
        answer = client.recv(512)
    assert answer[:2] == query[:2]
    assert int.from_bytes(answer[2:4], "big") & 0x800F == 0x8000 | code
