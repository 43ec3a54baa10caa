"""A session's lease on an engine: by it anybody can tell that the session is over, whatever machine it ran on.

A container reads from the connection over which the session attached to it. When the session's process ends, or its
machine is switched off, the engine closes that container's input, and it ends. At once after a process; after some two
minutes without an answer from the machine (TCP keep-alive, which the engine sends every 15 s); behind ssh when the
sshd there notices, which is its own to set (ClientAliveInterval, sshd_config(5)).
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import docker
from docker.errors import NotFound

from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.labels import LEASE, Session
from tuneproof.lab.engine.reach import hang_up

_READS_UNTIL_THE_END: Final = ("cat",)


@contextmanager
def lease_of(client: docker.DockerClient, *, session: Session, image: str) -> Iterator[None]:
    """Hold a lease inside the context (TuneproofError: the engine refused, or does not answer)."""
    api = client.api
    with engine_errors("taking a lease on the engine"):
        # Its input is closed with the first connection to it (StdinOnce), which docker-py asks for with stdin_open.
        container_id = api.create_container(
            image,
            entrypoint=list(_READS_UNTIL_THE_END),
            stdin_open=True,
            network_disabled=True,
            labels={**session.labels, LEASE: "held"},
        )["Id"]
        connection = api.attach_socket(container_id, params={"stdin": 1, "stream": 1})
        api.start(container_id)
    try:
        yield
    finally:
        hang_up(connection)
        # An engine that has gone away meanwhile is told of by those who need it; what is left goes with the session.
        with suppress(TuneproofError), engine_errors("giving the lease back"), suppress(NotFound):
            api.remove_container(container_id, force=True)
