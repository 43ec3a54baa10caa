"""Finds the engine for an environment or a Docker context, by the same rules as the docker command.

The order is DOCKER_HOST, the context in DOCKER_CONTEXT, the context in config.json, and the default socket. The context
called "default" means DOCKER_HOST or the default socket, regardless of config.json:
https://docs.docker.com/engine/manage-resources/contexts/ and
https://docs.docker.com/reference/cli/docker/#environment-variables. Callers pass the address to docker's library, so
that the library does not search for one.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tuneproof.errors import BadInputError

DEFAULT: Final = "default"
DEFAULT_ADDRESS: Final = "unix:///var/run/docker.sock"
CERTIFICATES: Final = ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
_ENGINE_VARIABLES: Final = ("DOCKER_HOST", "DOCKER_CONTEXT", *CERTIFICATES)


def resolved(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment with the address of its engine (BadInputError: there is no such context)."""
    return at_context(chosen_context(environment)[0], environment)


def chosen_context(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the context of an environment, and its source: a variable, a file, or nothing.

    Raises BadInputError: config.json cannot be read.
    """
    if environment.get("DOCKER_HOST"):
        return DEFAULT, "DOCKER_HOST"
    if name := environment.get("DOCKER_CONTEXT"):
        return name, "DOCKER_CONTEXT"
    path = _folder(environment) / "config.json"
    try:
        name = _read(path, option="Docker's current context").get("currentContext", "")
    except (FileNotFoundError, NotADirectoryError):
        return DEFAULT, ""
    return (name, str(path)) if name else (DEFAULT, "")


def at_context(name: str, environment: Mapping[str, str], *, option: str = "Docker context") -> dict[str, str]:
    """Return the environment that selects a context's engine.

    option: the source of the context's name, for messages.
    Raises BadInputError: there is no such context, or the store cannot be read.
    """
    if name == DEFAULT:
        kept = {key: environment[key] for key in CERTIFICATES if key in environment}
        return without_engine(environment) | kept | {"DOCKER_HOST": environment.get("DOCKER_HOST") or DEFAULT_ADDRESS}
    return without_engine(environment) | _of_context(name, environment, option=option)


def without_engine(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that select an engine and its certificates."""
    return {key: value for key, value in environment.items() if key not in _ENGINE_VARIABLES}


def _of_context(name: str, environment: Mapping[str, str], *, option: str) -> dict[str, str]:
    store = _folder(environment) / "contexts"
    known = {}
    for path in sorted(store.glob("meta/*/meta.json")):
        meta = _read(path, option=f"{option} {name}")
        try:
            known[meta["Name"]] = meta["Endpoints"]["docker"], store / "tls" / path.parent.name / "docker"
        except (KeyError, TypeError) as error:
            raise _unreadable(f"{option} {name}", path) from error
    if name not in known:
        raise BadInputError(
            f"{option} {name}: there is no such Docker context",
            remedy=f"use one of {', '.join([DEFAULT, *known])}, or an address such as tcp://HOST:2376 or ssh://USER@HOST",
        )
    endpoint, certificates = known[name]
    found = {"DOCKER_HOST": str(endpoint["Host"])}
    if certificates.is_dir():
        found["DOCKER_CERT_PATH"] = str(certificates)
        found["DOCKER_TLS_VERIFY"] = "" if endpoint.get("SkipTLSVerify") else "1"
    return found


def _folder(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME")
    return Path(environment.get("DOCKER_CONFIG") or (Path(home) if home else Path.home()) / ".docker")


def _read(path: Path, *, option: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError) as error:
        raise _unreadable(option, path) from error
    if not isinstance(found, dict):
        raise _unreadable(option, path)
    return found


def _unreadable(option: str, path: Path) -> BadInputError:
    return BadInputError(
        f"{option}: Docker's contexts cannot be read",
        where=str(path),
        remedy="make the file readable, set HOME to your home directory, or name the engine in DOCKER_HOST",
    )
