"""Reasons for an unreachable engine, from real or missing sockets and from docker-py's own exceptions."""

import http.server
import socket
import ssl
import subprocess
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from types import SimpleNamespace

import certifi
import pytest
import requests
import urllib3
from docker.errors import DockerException

from tests.support.docker_contexts import write_context
from tests.support.served import Quiet, serving
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.reach import Endpoint, NoLocalEngineError, connect, explain, find_endpoint, hang_up


@pytest.fixture
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the user's own choice of an engine from the test."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


def wrapped(cause: OSError) -> DockerException:
    """Wrap a system error as urllib3, requests and docker-py do; each exception repeats the text of the inner one."""
    aborted = urllib3.exceptions.ProtocolError("Connection aborted.", cause)
    aborted.__context__ = cause
    failed = requests.ConnectionError(aborted)
    failed.__context__ = aborted
    error = DockerException(f"Error while fetching server API version: {failed}")
    error.__cause__ = failed
    return error


@pytest.mark.usefixtures("docker_config")
def test_a_docker_host_without_a_socket_is_named_with_the_systems_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailableError) as caught:
        connect()
    assert not isinstance(caught.value, NoLocalEngineError)
    assert caught.value.what == "The Docker engine does not answer: No such file or directory."
    assert caught.value.where == f"unix://{tmp_path}/none.sock, from DOCKER_HOST"
    assert "correct DOCKER_HOST" in caught.value.remedy


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("carrier-pigeon://loft", "from DOCKER_HOST"),
        ("tcp://[::1", "Invalid IPv6 URL"),
        # Docker's library would need a package that the lab does not install.
        ("ssh://me@machine", "--engine ssh://me@machine"),
    ],
)
@pytest.mark.usefixtures("docker_config")
def test_a_docker_host_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, host: str, expected: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineUnavailableError) as caught:
        connect()
    assert host in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.usefixtures("docker_config")
def test_the_lab_gives_up_on_a_silent_engine_after_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel accepts connections for a hanging daemon, which never answers."""
    path = f"{tmp_path}/silent.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        with pytest.raises(EngineUnavailableError, match="timed out"):
            connect(timeout_s=1)


def test_the_remedy_for_a_missing_permission_is_the_docker_group() -> None:
    """Installing or starting an engine would not help, so the error must not be a NoLocalEngineError."""
    error = explain(wrapped(PermissionError(13, "Permission denied")), Endpoint(address="unix:///var/run/docker.sock"))
    assert not isinstance(error, NoLocalEngineError)
    assert error.what == "This user may not use the Docker engine: Permission denied."
    assert "usermod -aG docker" in error.remedy


def test_if_the_default_socket_is_missing_the_lab_may_start_an_engine() -> None:
    """The remedy still lists the steps, for users without root."""
    error = explain(wrapped(FileNotFoundError(2, "No such file")), Endpoint(address="unix:///var/run/docker.sock"))
    assert isinstance(error, NoLocalEngineError)
    assert "DOCKER_HOST" in error.remedy


class Engine(Quiet):
    """An engine that reports its version and answers pings."""

    def do_GET(self) -> None:  # noqa: N802 - the name in the base class
        body = b"OK" if self.path.endswith("_ping") else b'{"ApiVersion": "1.41"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def tls_engine(tmp_path: Path) -> Iterator[str]:
    """Serve an engine over TLS with a self-signed certificate, which is in tmp_path for clients; yield its address."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    (tmp_path / "ca.pem").write_bytes(certificate.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.HTTPServer(("127.0.0.1", 0), Engine)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server, scheme="tcp") as address:
        yield address


@pytest.mark.usefixtures("docker_config")
@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # docker-py leaks a connection after a failed TLS handshake
@pytest.mark.parametrize("bundle", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_an_engines_certificate_is_checked_against_the_authority_in_docker_cert_path(
    tls_engine: str, bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bundle, certifi.where())
    environment = {"DOCKER_HOST": tls_engine, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    connect(environment=environment).close()
    (tmp_path / "ca.pem").write_bytes(Path(certifi.where()).read_bytes())
    with pytest.raises(EngineUnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
        connect(environment=environment)


@pytest.mark.usefixtures("docker_config")
def test_an_endpoint_names_the_variable_or_context_of_its_address(tmp_path: Path) -> None:
    assert find_endpoint({"DOCKER_CONFIG": str(tmp_path)}) == Endpoint(address="unix:///var/run/docker.sock")
    write_context(tmp_path, "far", "tcp://far:2376")
    chosen = find_endpoint({"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "far"})
    assert chosen == Endpoint(address="tcp://far:2376", chosen_by="Docker context 'far'")
    assert not chosen.is_local
    environment = {"DOCKER_HOST": "unix:///run/other.sock", "DOCKER_CONTEXT": "far"}
    assert find_endpoint(environment) == Endpoint(address="unix:///run/other.sock", chosen_by="DOCKER_HOST")


def test_closing_a_response_with_a_closed_file_is_not_an_error() -> None:
    """http.client flushes the file again, which raises ValueError."""
    here, there = socket.socketpair()
    with here, there:
        response = HTTPResponse(here)
        response.fp.close()
        hang_up(SimpleNamespace(close=lambda: None, _response=response))
