"""A session's lease on an engine, which shows on any machine whether the session is over.

The lease is a container that reads from the connection over which the session attached to it. When the session's
process ends or its machine fails, the engine closes the container's input, and the container exits: at once if the
process ends; within about three minutes if its machine stops answering (TCP keep-alive, every 15 s); over ssh, when
the remote sshd notices (ClientAliveInterval, sshd_config(5)).

The container has a new network namespace and every CPU of the host; it first prints their properties, which a run needs
anyway.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import docker
from docker.errors import NotFound
from docker.types import LogConfig

from tuneproof.errors import LabError, TuneproofError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.labels import LEASE, Session
from tuneproof.lab.engine.pace import patience_of
from tuneproof.lab.engine.printed import printed
from tuneproof.lab.engine.reach import hang_up
from tuneproof.lab.engine.repeat import once_more

_PRINTS_WITHIN_S: Final = 60.0
_NOBODY: Final = "65534:65534"
_MEMORY_BYTES: Final = 128 << 20
_PROCESSES: Final = 16
_COMMAND: Final = ("python3", "-m", "netadmin", "lease")


class Lease:
    """A lease that the session holds.

    Attributes:
        patience: How many times slower than usual its engine is.
    """

    def __init__(self, client: docker.DockerClient, container_id: str, *, patience: float) -> None:
        self._client = client
        self._container_id = container_id
        self.patience = patience

    def is_held(self) -> bool:
        """Return whether the lease is still held; False after an engine's restart, or if the engine does not answer."""
        try:
            with engine_errors("inspecting the session's lease"):
                return bool(self._client.api.inspect_container(self._container_id)["State"]["Running"])
        except TuneproofError:
            return False

    def printed(self) -> str:
        """Return the first output of its container; empty if the lease is no longer held.

        Raises TuneproofError: the engine refused, or nothing arrived in time.
        """
        within_s = _PRINTS_WITHIN_S * self.patience
        with engine_errors("reading from the session's lease"):
            text = printed(self._client.api, self._container_id, "\n", within_s=within_s)
        if not text and self.is_held():
            raise LabError("the session's lease printed nothing", where=f"container {self._container_id[:12]}")
        return text


@contextmanager
def lease_of(client: docker.DockerClient, *, session: Session, image: str) -> Iterator[Lease]:
    """Hold a lease inside the context (TuneproofError: the engine refused, or does not answer).

    image: name of the netadmin image.
    """
    api = client.api

    def take() -> tuple[str, Any]:
        # The container's input ends when the first connection does (StdinOnce, which docker-py sets with stdin_open).
        container_id = api.create_container(
            image,
            entrypoint=list(_COMMAND),
            stdin_open=True,
            network_disabled=True,
            user=_NOBODY,
            host_config=api.create_host_config(
                log_config=LogConfig(type=LogConfig.types.JSON),
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                read_only=True,
                mem_limit=_MEMORY_BYTES,
                memswap_limit=_MEMORY_BYTES,
                pids_limit=_PROCESSES,
            ),
            labels={**session.labels, LEASE: "held"},
        )["Id"]
        return container_id, api.attach_socket(container_id, params={"stdin": 1, "stream": 1})

    with engine_errors("taking a lease on the engine"):
        # If the response to a first attempt was lost, that container never starts, and is removed with the session.
        container_id, connection = once_more(take)
        began_s = time.monotonic()
        api.start(container_id)
        patience = patience_of(time.monotonic() - began_s)
    try:
        yield Lease(client, container_id, patience=patience)
    finally:
        hang_up(connection)
        # Code that needs the engine reports the engine's failure; leftovers are removed with the session.
        with suppress(TuneproofError), engine_errors("releasing the lease"), suppress(NotFound):
            api.remove_container(container_id, force=True)
