"""Calls with a lost response, on an engine that serves HTTP and loses responses on demand."""

import http.server
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import docker
import pytest
import requests
from docker.errors import APIError, DockerException
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from tests.support.served import Quiet, serving
from tuneproof.lab.engine import repeat
from tuneproof.lab.engine.repeat import Repeats, once_more, repeat_safe_calls


class Engine(Quiet):
    """An engine that closes the connections of the first ``loses`` calls without sending a response."""

    loses = 0
    status = 200
    seen: list[str] = []  # noqa: RUF012 - replaced for each test

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        type(self).seen.append(f"{self.command} {self.path.partition('?')[0].removeprefix('/v1.41')}")
        if type(self).loses:
            type(self).loses -= 1
            self.close_connection = True
            return
        body = b'{"message": "in use"}'
        self.send_response(type(self).status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names in the base class


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.APIClient]:
    """Return a client of this engine that repeats calls without a pause."""
    monkeypatch.setattr(repeat, "_BACKOFF_S", 0)
    Engine.seen, Engine.loses, Engine.status = [], 0, 200
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine), scheme="tcp") as address:
        client = docker.APIClient(address, version="1.41")
        repeat_safe_calls(client)
        yield client
        client.close()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("loses", "call", "arguments", "path", "attempts"),
    [
        (2, "inspect_container", ("c",), "GET /containers/c/json", 3),
        (2, "put_archive", ("c", "/", b"archive"), "PUT /containers/c/archive", 3),
        (2, "remove_container", ("c",), "DELETE /containers/c", 3),
        (2, "start", ("c",), "POST /containers/c/start", 3),
        (2, "wait", ("c",), "POST /containers/c/wait", 3),
        (2, "exec_create", ("c", "true"), "POST /containers/c/exec", 3),
        (2, "disconnect_container_from_network", ("c", "n"), "POST /networks/n/disconnect", 3),
        # The lab gives up on an engine that loses every response.
        (100, "inspect_container", ("c",), "GET /containers/c/json", 5),
        # A repeated call could create a second container, or run a program twice.
        (1, "create_container", ("image",), "POST /containers/create", 1),
        (1, "create_network", ("n",), "POST /networks/create", 1),
        (1, "exec_start", ("e",), "POST /exec/e/start", 1),
        (1, "kill", ("c",), "POST /containers/c/kill", 1),
        (1, "attach", ("c",), "POST /containers/c/attach", 1),
    ],
)
def test_only_calls_that_may_be_done_twice_are_repeated(
    api: docker.APIClient, loses: int, call: str, arguments: tuple[Any, ...], path: str, attempts: int
) -> None:
    Engine.loses = loses
    with nullcontext() if attempts > loses else pytest.raises(requests.ConnectionError):
        getattr(api, call)(*arguments)
    assert Engine.seen == [path] * attempts


@pytest.mark.parametrize(
    ("call", "status", "attempts"),
    [
        ("inspect_container", 500, 5),
        ("inspect_container", 503, 5),
        # A call that the engine refuses is not repeated.
        ("inspect_container", 404, 1),
        ("inspect_container", 409, 1),
        # The engine may have started the work before it failed.
        ("remove_container", 500, 1),
        ("start", 500, 1),
    ],
)
def test_only_a_query_that_fails_in_the_engine_is_repeated(
    api: docker.APIClient, call: str, status: int, attempts: int
) -> None:
    Engine.status = status
    with pytest.raises(APIError, match="in use"):
        getattr(api, call)("c")
    assert len(Engine.seen) == attempts


def test_an_engine_that_hangs_is_not_called_again() -> None:
    """Each repeated call would take as long; a connection that is closed at once costs no time."""
    lost = ProtocolError("Connection aborted.")
    assert Repeats(total=4).increment("GET", "/info", error=lost).total == 3
    hangs = ReadTimeoutError(HTTPConnectionPool("localhost"), "/info", "Read timed out.")
    with pytest.raises(ReadTimeoutError):
        Repeats(total=4).increment("GET", "/info", error=hangs)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_once_more_repeats_a_call_once_after_a_lost_response(
    api: docker.APIClient,
) -> None:
    """A refusal is a response, so the call is not repeated."""
    Engine.loses = 1
    once_more(lambda: api.create_container("image", name="n"))
    Engine.loses = 2
    with pytest.raises(requests.ConnectionError):
        once_more(lambda: api.create_container("image", name="n"))
    Engine.status = 409
    with pytest.raises(APIError):
        once_more(lambda: api.create_container("image", name="n"))
    assert Engine.seen == ["POST /containers/create"] * 5


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("loses", [0, 1])
def test_a_client_is_created_again_after_a_lost_response_but_not_after_a_wrong_one(
    api: docker.APIClient, loses: int
) -> None:
    """docker-py raises the same exception for both."""
    Engine.loses = loses
    with pytest.raises(DockerException, match="ApiVersion"):
        once_more(lambda: docker.APIClient(api.base_url, version="auto"))
    assert Engine.seen == ["GET /version"] * (loses + 1)
