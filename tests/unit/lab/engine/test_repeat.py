"""Calls with a lost response, on an engine that serves HTTP and loses responses on demand."""

import http.server
from collections.abc import Iterator
from typing import Any

import docker
import pytest
import requests
from docker.errors import APIError

from tests.support.served import serving
from tuneproof.lab.engine import repeat
from tuneproof.lab.engine.repeat import once_more, repeat_safe_calls


class Engine(http.server.BaseHTTPRequestHandler):
    """Closes this many connections before it answers: the call may have been carried out."""

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
        said = b'{"message": "in use"}'
        self.send_response(type(self).status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names in the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Print nothing."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.APIClient]:
    """A client of this engine, which repeats calls without a pause."""
    monkeypatch.setattr(repeat, "_BACKOFF_S", 0)
    Engine.seen, Engine.loses, Engine.status = [], 0, 200
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine), scheme="tcp") as address:
        client = docker.APIClient(address, version="1.41")
        repeat_safe_calls(client)
        yield client
        client.close()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("call", "arguments", "path"),
    [
        ("inspect_container", ("c",), "GET /containers/c/json"),
        ("put_archive", ("c", "/", b"archive"), "PUT /containers/c/archive"),
        ("remove_container", ("c",), "DELETE /containers/c"),
        ("start", ("c",), "POST /containers/c/start"),
        ("wait", ("c",), "POST /containers/c/wait"),
        ("exec_create", ("c", "true"), "POST /containers/c/exec"),
        ("disconnect_container_from_network", ("c", "n"), "POST /networks/n/disconnect"),
    ],
)
def test_calls_that_may_be_done_twice_are_repeated(
    api: docker.APIClient, call: str, arguments: tuple[Any, ...], path: str
) -> None:
    Engine.loses = 2
    getattr(api, call)(*arguments)
    assert Engine.seen == [path] * 3


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("call", "arguments", "path"),
    [
        ("create_container", ("image",), "POST /containers/create"),
        ("create_network", ("n",), "POST /networks/create"),
        ("exec_start", ("e",), "POST /exec/e/start"),
        ("kill", ("c",), "POST /containers/c/kill"),
        ("attach", ("c",), "POST /containers/c/attach"),
    ],
)
def test_calls_that_may_have_started_are_not_repeated(
    api: docker.APIClient, call: str, arguments: tuple[Any, ...], path: str
) -> None:
    """A second container, or a second run of a program, would be something else."""
    Engine.loses = 1
    with pytest.raises(requests.ConnectionError):
        getattr(api, call)(*arguments)
    assert Engine.seen == [path]


@pytest.mark.parametrize(("status", "asked"), [(500, 5), (503, 5), (404, 1), (409, 1)])
def test_a_query_that_fails_in_the_engine_is_repeated(api: docker.APIClient, status: int, asked: int) -> None:
    """A refusal stays a refusal, and its own text is the error."""
    Engine.status = status
    with pytest.raises(APIError, match="in use"):
        api.inspect_container("c")
    assert len(Engine.seen) == asked


@pytest.mark.parametrize("call", ["remove_container", "start"])
def test_only_queries_are_repeated_after_a_response(api: docker.APIClient, call: str) -> None:
    """The engine may have started the work before it failed."""
    Engine.status = 500
    with pytest.raises(APIError):
        getattr(api, call)("c")
    assert len(Engine.seen) == 1


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_engine_that_loses_everything_is_given_up(api: docker.APIClient) -> None:
    Engine.loses = 100
    with pytest.raises(requests.ConnectionError):
        api.inspect_container("c")
    assert len(Engine.seen) == 5


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_call_that_checks_for_its_first_try_is_repeated_once(api: docker.APIClient) -> None:
    Engine.loses = 1
    once_more(lambda: api.create_container("image", name="n"))
    Engine.loses = 2
    with pytest.raises(requests.ConnectionError):
        once_more(lambda: api.create_container("image", name="n"))
    assert Engine.seen == ["POST /containers/create"] * 4


def test_a_refusal_is_a_response_and_is_not_repeated(api: docker.APIClient) -> None:
    Engine.status = 409
    with pytest.raises(APIError):
        once_more(lambda: api.create_container("image", name="n"))
    assert Engine.seen == ["POST /containers/create"]
