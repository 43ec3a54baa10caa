"""What a container prints, followed as it comes."""

import threading
import time
from collections.abc import Callable

import docker

from tuneproof.lab.engine.reach import hang_up


def printed(api: docker.APIClient, container_id: str, suffices: Callable[[str], bool], *, within_s: float) -> str:
    """Return all that a container has printed on both streams, as soon as it suffices.

    within_s: after that, or after the container's end, it returns what was printed until then.
    """
    deadline_s = time.monotonic() + within_s
    running = True
    while True:
        text = _followed(api, container_id, suffices, within_s=max(0.0, deadline_s - time.monotonic()))
        if suffices(text) or not running or time.monotonic() >= deadline_s:
            return text
        # The container has ended, and the next reading has everything; or the connection broke.
        running = api.inspect_container(container_id)["State"]["Running"]


def _followed(api: docker.APIClient, container_id: str, suffices: Callable[[str], bool], *, within_s: float) -> str:
    stream = api.logs(container_id, stream=True, follow=True)
    # The engine sends nothing while nothing is printed: only another thread can end the waiting.
    end = threading.Timer(within_s, stream.close)
    end.start()
    parts = b""
    try:
        for part in stream:
            parts += part
            if suffices(parts.decode("utf-8", errors="replace")):
                break
    finally:
        end.cancel()
        end.join()
        hang_up(stream)
    return parts.decode("utf-8", errors="replace")
