"""A session from its beginning to its end: dead ones are removed before it, and everything of its own after it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import docker

from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reaper import reaper
from tuneproof.lab.engine.sweep import remove_dead_sessions, remove_session


@contextmanager
def session_on(
    engines: Mapping[str, docker.DockerClient], *, looks_on: Callable[[], bool] = lambda: False
) -> Iterator[Session]:
    """Open a session whose resources on some engines are removed at its end, however it ends.

    engines: clients, by the user's name for the engine; empty for the default one.
    looks_on: called at the end; whether something may still appear, as after an interrupt (default: no).
    Raises TuneproofError: an engine refuses, or does not answer.
    """
    session = Session()
    with ExitStack() as stack:
        for name in engines:
            stack.enter_context(reaper(session, engine=name, looks_on=looks_on))
        for client in engines.values():
            with engine_errors("removing what dead sessions left"):
                remove_dead_sessions(client)
        try:
            yield session
        finally:
            for client in engines.values():
                with engine_errors("removing what the session left"):
                    remove_session(client, session.id)
