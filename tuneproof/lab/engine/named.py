"""Engines by name: a Docker context, or an address such as tcp://10.0.0.5:2376 or ssh://user@machine.

An engine behind ssh is reached with the system's own ssh client, as with docker's command line. The client forwards the
engine's socket to a local one (ssh(1), -L); keys, agents and jump hosts come from ~/.ssh/config.
"""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tuneproof.errors import BadInputError, EngineUnavailableError
from tuneproof.lab.engine.commands import end_with_parent
from tuneproof.lab.engine.contexts import DEFAULT, at_context, without_engine
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.swarm import Node

_SCHEMES: Final = ("unix", "tcp", "http", "https", "ssh")
_REMOTE_SOCKET: Final = "/var/run/docker.sock"
_FORWARDED_WITHIN_S: Final = 20.0
_POLL_S: Final = 0.05
# Docker 20.10: https://docs.docker.com/reference/api/engine/#api-version-matrix
_OLDEST_API: Final = (1, 41)


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """The facts that decide whether engines can share a run."""

    name: str  # The engine's name, as the user gave it
    architecture: str  # As the engine reports it, such as "x86_64"
    cpus: int
    version: str
    node: Node = field(default_factory=Node)


@contextlib.contextmanager
def environment_of(
    name: str, environment: Mapping[str, str] = os.environ, *, option: str = "--engine"
) -> Iterator[dict[str, str]]:
    """Return the environment that selects an engine; the socket of one behind ssh is forwarded inside the context.

    Raises BadInputError: the name is neither a context nor an address. Raises EngineUnavailableError: ssh fails.
    """
    if "://" not in name:
        found = at_context(name, environment, option=option)
    elif urlsplit(name).scheme in _SCHEMES:
        # For an address, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH name the certificates.
        found = at_context(DEFAULT, {**environment, "DOCKER_HOST": name})
    else:
        raise BadInputError(
            f"{option} {name}: not an address", remedy=f"give one that begins with {'://, '.join(_SCHEMES)}://"
        )
    address = found["DOCKER_HOST"]
    if not address.startswith("ssh://"):
        yield found
        return
    with _forwarded(address) as socket_path:
        yield {**without_engine(found), "DOCKER_HOST": f"unix://{socket_path}"}


def look(name: str, environment: Mapping[str, str]) -> EngineFacts:
    """Return the facts of an engine (EngineUnavailableError: it does not answer, or is too old)."""
    try:
        client = connect(environment=environment)
    except EngineUnavailableError as error:
        # The message must not mention DOCKER_HOST, since the user named the engine in another way.
        address = environment.get("DOCKER_HOST", "")
        raise EngineUnavailableError(
            f"Engine {name}: {error.what}",
            where=address if address != name else "",
            remedy="start it, join the group that may use it, or name another",
        ) from error
    with engine_errors(f"querying engine {name}"):
        info, version = client.info(), client.version()
    client.close()
    api = tuple(int(part) for part in str(version["ApiVersion"]).split("."))
    if api < _OLDEST_API:
        raise EngineUnavailableError(
            f"Engine {name} is Docker {info['ServerVersion']}.", remedy="use Docker 20.10 or later"
        )
    return EngineFacts(
        name=name,
        architecture=info["Architecture"],
        cpus=info["NCPU"],
        version=str(info["ServerVersion"]),
        node=Node.from_info(info),
    )


@contextlib.contextmanager
def _forwarded(address: str) -> Iterator[Path]:
    place = urlsplit(address)
    who = f"{place.username}@{place.hostname}" if place.username else f"{place.hostname}"
    port = ("-p", str(place.port)) if place.port else ()
    remote = place.path if place.path not in {"", "/"} else _REMOTE_SOCKET
    with tempfile.TemporaryDirectory(prefix="tuneproof-ssh-") as folder:
        local = Path(folder) / "docker.sock"
        options = ("-nNT", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes", "-L", f"{local}:{remote}")
        try:
            ssh = subprocess.Popen(
                ["ssh", *options, *port, "--", who],
                stderr=subprocess.PIPE,
                # Ctrl-C in a terminal must reach only the run, which still needs the connection to clean up.
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - it only makes one system call
            )
        except FileNotFoundError as error:
            raise EngineUnavailableError("There is no ssh client.", remedy="install OpenSSH's client") from error
        with ssh:
            try:
                _wait_for(local, ssh, address)
                yield local
            finally:
                ssh.terminate()


def _wait_for(local: Path, ssh: "subprocess.Popen[bytes]", address: str) -> None:
    deadline_s = time.monotonic() + _FORWARDED_WITHIN_S
    while not local.exists():
        if ssh.poll() is not None or time.monotonic() > deadline_s:
            ssh.terminate()
            errors = b"" if ssh.stderr is None else ssh.stderr.read()
            last_line = errors.decode("utf-8", errors="replace").rstrip().rstrip(".").rpartition("\n")[2]
            reason = last_line or "ssh did not connect in time"
            raise EngineUnavailableError(
                f"The Docker engine does not answer: {reason}.",
                where=address,
                remedy="make sure that ssh logs in to that machine without a prompt, and that Docker runs there",
            )
        time.sleep(_POLL_S)
