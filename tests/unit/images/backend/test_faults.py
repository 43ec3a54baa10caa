"""Faults of upstreams: broken responses, no response, a full accept queue, errors from name servers."""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from images.backend.scripted.faults import Faults
from tests.support.questions import question
from tuneproof.lab.protocol.scripted import BROKEN_PORT, DNS_ERROR_PORTS, FULL_PORT, SILENT_PORT, Then

# This port is free on the machines that run these tests, and differs in each process of pytest-xdist; the lab's own
# ports belong to a container.
FIRST_PORT = 29_100 + 20 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORT_OFFSET = FIRST_PORT - BROKEN_PORT
HOST = "127.0.0.1"


class Serving:
    def __init__(self, loop: asyncio.AbstractEventLoop, faults: Faults) -> None:
        self._loop = loop
        self._faults = faults

    def say(self, text: str, then: Then) -> None:
        asyncio.run_coroutine_threadsafe(self._faults.say(text, then), self._loop).result()


@pytest.fixture(name="serving", scope="module")
def serving_fixture() -> Iterator[Serving]:
    """Serve on a separate event loop."""
    loop, faults = asyncio.new_event_loop(), Faults()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(faults.serve(HOST, first_port=FIRST_PORT), loop).result()
        yield Serving(loop, faults)
    finally:
        asyncio.run_coroutine_threadsafe(faults.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def connected(port: int) -> socket.socket:
    return socket.create_connection((HOST, port + PORT_OFFSET), timeout=5)


@pytest.mark.parametrize(
    ("text", "then"), [("\x01half", Then.CLOSES), ("", Then.RESETS), ("half", Then.STAYS)], ids=str
)
def test_a_broken_server_sends_the_given_text_then_ends_or_stays(serving: Serving, text: str, then: Then) -> None:
    serving.say(text, then)
    with connected(BROKEN_PORT) as connection:
        connection.sendall(b"anything")
        assert connection.recv(100 if text else 0) == text.encode()
        connection.settimeout(0.2 if then is Then.STAYS else 5)
        if then is Then.CLOSES:
            assert connection.recv(100) == b""
        else:
            with pytest.raises(ConnectionResetError if then is Then.RESETS else TimeoutError):
                connection.recv(100)


def test_a_silent_server_is_silent_until_the_next_trial(serving: Serving) -> None:
    """The connection stays open until the next trial's fault is set."""
    with connected(SILENT_PORT) as connection:
        connection.sendall(b"anything")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        serving.say("", Then.CLOSES)
        connection.settimeout(5)
        assert connection.recv(100) == b""


@pytest.mark.usefixtures("serving")
def test_a_server_with_a_full_queue_does_not_answer_further_connections() -> None:
    with pytest.raises(TimeoutError):
        socket.create_connection((HOST, FULL_PORT + PORT_OFFSET), timeout=0.3)


@pytest.mark.usefixtures("serving")
@pytest.mark.parametrize("code", DNS_ERROR_PORTS)
def test_a_name_server_answers_with_an_error(code: int) -> None:
    query = question("app.test", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.sendto(query, (HOST, DNS_ERROR_PORTS[code] + PORT_OFFSET))
        answer = client.recv(512)
    assert answer[:2] == query[:2]
    assert int.from_bytes(answer[2:4], "big") & 0x800F == 0x8000 | code
