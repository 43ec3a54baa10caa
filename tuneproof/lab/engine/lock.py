"""An engine's lock: only one run at a time measures on an engine, no matter who started the run, or where.

The lock is a container that is never started. The engine gives a container's name to one client only, atomically.
Networks and volumes would not do: several clients can create one under the same name. The lock is removed by its id, so
that nobody can remove a lock that somebody else has just taken. It has the session's labels, so the reaper and the
sweep of leftovers remove it like everything else of a dead session.

A waiting session has a ticket, which is another such container, and the oldest ticket is next. Without tickets, the
engine would give the lock to any waiting session, and some session might never get it.
"""

import getpass
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
TICKET: Final = f"{NAME}-ticket-"
HOLDER: Final = "io.tuneproof.turn.holder"
SINCE: Final = "io.tuneproof.turn.since"
WAIT_S: Final = 3600.0
"""Several times the duration of a complete quick run on a machine with two CPUs."""
_POLL_S: Final = 1.0
_CONFLICT: Final = 409


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

    wait_s: how long to wait (default: an hour). Raises EngineUnavailableError: other runs held the lock all that time;
        the message names one of them. Raises TuneproofError: the engine refused, or does not answer.
    """
    deadline_s = time.monotonic() + wait_s
    reported = ticket = ""
    try:
        while True:
            with engine_errors(f"locking engine {name}"):
                tickets = _tickets(client.api)
                ticket = next((found for found, labels in tickets if labels.get(SESSION) == session.id), "")
                if not tickets or tickets[0][0] == ticket:
                    found, labels = _create(client.api, image, NAME, _labels(session))
                else:
                    # After a restart of the engine, this session may still have the lock (topology/holdings.py).
                    found, labels = _held(client.api, NAME) or tickets[0]
                if labels.get(SESSION) == session.id:
                    break
                is_left = is_dead(client, labels)
            if is_left:
                # Everything of the dead session is removed, since its running containers would disturb this run.
                with engine_errors(f"removing what a dead session left on engine {name}"):
                    remove_session(client, labels[SESSION])
                continue
            why = f"{name} is {'reserved for' if found in dict(tickets) else 'in use by'} {_holder(labels)}"
            if time.monotonic() >= deadline_s:
                raise EngineUnavailableError(
                    f"Engine {why}; this run waited for {wait_s / 60:.0f} minutes.",
                    remedy="try again later; if that run is gone, `./lab clean [--engine NAME]` removes its lock",
                )
            if found != reported:
                reported = found
                report(f"engine {why}: waiting up to {wait_s / 60:.0f} min")
            if not ticket:
                with engine_errors(f"waiting for engine {name}"):
                    ticket, _ = _create(client.api, image, f"{TICKET}{session.id}", _labels(session))
            time.sleep(_POLL_S)
    finally:
        if ticket:
            _remove(client.api, ticket)
    try:
        yield
    finally:
        _remove(client.api, found)


def _tickets(api: docker.APIClient) -> Sequence[tuple[str, Mapping[str, str]]]:
    """Return the ids and labels of all tickets in an order on which all sessions agree: the oldest first."""
    found = api.containers(all=True, filters={"name": TICKET})
    return [(item["Id"], item["Labels"]) for item in sorted(found, key=lambda each: (each["Created"], each["Id"]))]


def _held(api: docker.APIClient, name: str) -> tuple[str, Mapping[str, str]] | None:
    try:
        found = api.inspect_container(name)
    except NotFound:
        return None
    return str(found["Id"]), found["Config"]["Labels"] or {}


def _create(api: docker.APIClient, image: str, name: str, labels: dict[str, str]) -> tuple[str, Mapping[str, str]]:
    """Create a container unless one with its name exists; return the id and labels of the container with that name."""
    while True:
        try:
            return str(once_more(lambda: api.create_container(image, name=name, labels=labels))["Id"]), labels
        except APIError as error:
            if error.status_code != _CONFLICT:
                raise
        # The container may be this session's, if the engine's response was lost, or be gone by now.
        if (held := _held(api, name)) is not None:
            return held


def _holder(labels: Mapping[str, str]) -> str:
    return f"{labels.get(HOLDER, 'somebody')} since {labels.get(SINCE, 'an unknown time')}"


def _labels(session: Session) -> dict[str, str]:
    since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"  # noqa: TID251 - the start of a lock
    return {**session.labels, HOLDER: f"{_user()}@{os.uname().nodename}", SINCE: since}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # In some containers, the user id has no name.
        return str(os.getuid())


def _remove(api: docker.APIClient, container_id: str) -> None:
    # Code that needs the engine reports that the engine has gone away; the session's end removes what is left.
    with suppress(TuneproofError), engine_errors("unlocking the engine"):
        api.remove_container(container_id, force=True)
