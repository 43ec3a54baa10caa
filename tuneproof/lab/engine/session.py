"""A session: it first removes the leftovers of dead sessions, and at its end everything that it started.

The session's reaper, a process that outlives it, removes what the session could not. The reaper holds the read end of a
pipe; only the session has the write end. When the session ends, even by SIGKILL, the kernel closes the pipe; the reaper
then removes everything with the session's label. It runs in its own process group, so Ctrl-C does not reach it. A
session with several engines has a reaper for each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import docker
import requests
from docker.errors import DockerException

from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.contexts import resolved
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.named import environment_of
from tuneproof.lab.engine.sweep import has_overlay_network, remove_dead_sessions, remove_session

# A pending request may still create a container shortly after the session's death, since the engine continues it. The
# reaper searches until nothing has appeared for this long.
_QUIET_S = 6.0
_PAUSE_S = 0.5
# After a normal end, the session waits for the reaper, which gives up soon. After the session's death, nobody waits,
# and the engine may be down for a long time. The next run on the engine removes whatever is left.
_SESSION_WAITS_S = 120.0
_GIVE_UP_S = 3600.0
_LATER_PAUSE_S = 5.0
_DONE = b"done"


@contextmanager
def session_on(
    engines: Mapping[str, docker.DockerClient], *, continues: Callable[[], bool] = lambda: False
) -> Iterator[Session]:
    """Open a session whose resources on some engines are removed at its end, however it ends.

    engines: clients by engine, as the user named it; an empty name means the default engine.
    continues: called at the end; returns whether something may still appear, as after an interrupt (default: no).
    Raises TuneproofError: an engine refused, or does not answer.
    """
    session = Session()
    with ExitStack() as stack:
        for name in engines:
            stack.enter_context(reaper(session, engine=name, continues=continues))
        for client in engines.values():
            with engine_errors("removing what dead sessions left"):
                remove_dead_sessions(client)
        try:
            yield session
        finally:
            for client in engines.values():
                with engine_errors("removing what the session left"):
                    remove_session(client, session.id)


@contextmanager
def reaper(session: Session, *, engine: str = "", continues: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Run an engine's reaper around everything that the session starts.

    After a normal end, the reaper searches once more. After an exception, the session may not have cleaned up; then the
    reaper continues alone, for up to an hour if the engine does not answer.

    continues: returns whether something may still appear after the session's end, so that the reaper must continue.
    """
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tuneproof.lab.engine.session", session.id, *filter(None, [engine])],
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )
    os.close(reader)
    is_done = False
    try:
        yield
        is_done = not continues()
        if is_done:
            # If somebody killed the reaper, there is nothing to notify; the session has already cleaned up.
            with suppress(BrokenPipeError):
                os.write(writer, _DONE)
    finally:
        os.close(writer)
        if is_done:
            process.wait()
        else:
            # The reaper outlives this process on purpose; without this line, the interpreter would warn about a running
            # child.
            process.returncode = 0


def reap(session_id: str, *, quiet_s: float, engine: str = "") -> None:
    """Remove the session's resources until none has appeared for ``quiet_s`` seconds, or until time is up.

    quiet_s: 0 if the session has removed everything itself and waits; the reaper then gives up after two minutes,
        otherwise after an hour.
    engine: a Docker context or address (default: the engine that the environment names). An engine behind ssh gets a
        new connection, since the session's connection may have ended with the session.
    """
    began_s = time.monotonic()
    last_seen_s = began_s
    give_up_s = _GIVE_UP_S if quiet_s else _SESSION_WAITS_S
    while (now_s := time.monotonic()) < began_s + give_up_s:
        try:
            with environment_of(engine) if engine else nullcontext(resolved()) as environment:
                client = docker.from_env(environment=environment)
                try:
                    # A network over several engines can be removed only once its containers on all of them are gone.
                    removed = remove_session(client, session_id)
                    seen = removed.total + len(removed.refused) + has_overlay_network(client, session_id)
                finally:
                    client.close()
        except (DockerException, requests.RequestException, TuneproofError):
            # The engine may be restarting, and labelled resources still exist when it is back.
            seen = 1
        if seen:
            last_seen_s = time.monotonic()
        elif now_s - last_seen_s >= quiet_s:
            return
        if quiet_s or seen:
            time.sleep(_PAUSE_S if now_s < began_s + _SESSION_WAITS_S else _LATER_PAUSE_S)


def main() -> None:
    """Wait for the end of the session, then reap."""
    message = sys.stdin.buffer.read()
    reap(sys.argv[1], quiet_s=0.0 if message == _DONE else _QUIET_S, engine="".join(sys.argv[2:]))


if __name__ == "__main__":
    main()
