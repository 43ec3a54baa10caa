"""An engine's lock: only one lab at a time measures on it, no matter who started it, and where.

The lock is a container that is never started. The engine gives a container's name to one client only, atomically
(unlike networks, which may share names, and volumes, which are created for every client); and the lock is removed by
its id, so that nobody can remove a lock that somebody else has taken meanwhile. It has the session's labels, so the
reaper and the sweep of leftovers remove it like everything else of a dead session.
"""

import getpass
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

import docker
from docker.errors import APIError, NotFound

from tuneproof.errors import EngineUnavailableError, TuneproofError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.labels import SESSION, Session
from tuneproof.lab.engine.repeat import once_more
from tuneproof.lab.engine.sweep import is_dead, remove_session

NAME: Final = "tuneproof-turn"
"""Earlier versions use the same name."""
HOLDER: Final = "io.tuneproof.turn.holder"
SINCE: Final = "io.tuneproof.turn.since"
WAIT_S: Final = 3600.0
"""About the time of a complete quick run on a machine with two CPUs."""
_POLL_S: Final = 1.0
_CONFLICT: Final = 409


class EngineBusyError(EngineUnavailableError):
    """Somebody else is measuring on the engine."""


@contextmanager
def locked(
    client: docker.DockerClient,
    *,
    name: str,
    session: Session,
    image: str,
    report: Callable[[str], None],
    wait_s: float = WAIT_S,
) -> Iterator[None]:
    """Use an engine exclusively inside the context.

    wait_s: how long to wait (default: an hour). Raises EngineBusyError: another run held it all that time; the message
    names it. Raises TuneproofError: the engine refused, or does not answer.
    """
    taken = _take(client, name=name, session=session, image=image, report=report, wait_s=wait_s)
    try:
        yield
    finally:
        # Code that needs the engine reports that it has gone away; the session's end removes what is left.
        with suppress(TuneproofError):
            _remove(client, taken)


def _take(
    client: docker.DockerClient,
    *,
    name: str,
    session: Session,
    image: str,
    report: Callable[[str], None],
    wait_s: float,
) -> str:
    """Return the id of the lock's container once this session has it."""
    deadline_s = time.monotonic() + wait_s
    told = ""
    while True:
        with engine_errors(f"locking engine {name}"):
            try:
                made = once_more(lambda: client.api.create_container(image, name=NAME, labels=_labels(session)))
                return str(made["Id"])
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise
            try:
                held = client.api.inspect_container(NAME)
            except NotFound:
                continue
        labels = held["Config"]["Labels"] or {}
        if labels.get(SESSION) == session.id:
            # This is our lock: the engine's response was lost.
            return str(held["Id"])
        if is_dead(client, labels):
            # Everything is removed, since running containers of that session would disturb this one.
            with engine_errors(f"removing what a dead session left on engine {name}"):
                remove_session(client, labels[SESSION])
            continue
        holder = f"{labels.get(HOLDER, 'somebody')}, since {labels.get(SINCE, 'an unknown time')}"
        if time.monotonic() >= deadline_s:
            raise EngineBusyError(
                f"Engine {name} measures for {holder}, and still does after {wait_s / 60:.0f} minutes.",
                remedy="try again later; if that run is gone for good, `./lab clean --engine` there removes its lock",
            )
        if held["Id"] != told:
            told = held["Id"]
            report(f"engine {name} measures for {holder}: waiting for its turn, {wait_s / 60:.0f} minutes at most")
        time.sleep(_POLL_S)


def _labels(session: Session) -> dict[str, str]:
    since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return {**session.labels, HOLDER: f"{_user()}@{os.uname().nodename}", SINCE: since}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # The user id has no name, as in some containers.
        return str(os.getuid())


def _remove(client: docker.DockerClient, container_id: str) -> None:
    with engine_errors("unlocking the engine"), suppress(NotFound):
        client.api.remove_container(container_id, force=True)
