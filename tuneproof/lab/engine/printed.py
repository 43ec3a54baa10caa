"""A container's output, read while it is printed."""

import threading
import time

import docker

from tuneproof.lab.engine.reach import hang_up


def printed(api: docker.APIClient, container_id: str, text: str, *, times: int = 1, within_s: float) -> str:
    """Return the output of a container on both streams as soon as a text has appeared in it this many times.

    within_s: the time limit. When it expires, or when the container ends, the output so far is returned.
    """
    deadline_s = time.monotonic() + within_s
    running = True
    while True:
        log = _followed(api, container_id, text.encode(), times, within_s=max(0.0, deadline_s - time.monotonic()))
        if log.count(text) >= times or not running or time.monotonic() >= deadline_s:
            return log
        # The container has ended, and the next reading returns everything; or the connection broke.
        running = api.inspect_container(container_id)["State"]["Running"]


def _followed(api: docker.APIClient, container_id: str, text: bytes, times: int, *, within_s: float) -> str:
    stream = api.logs(container_id, stream=True, follow=True)
    # While the container prints nothing, the engine sends nothing: only another thread can end the wait.
    end = threading.Timer(within_s, stream.close)
    end.start()
    log = bytearray()
    found = looked_at = 0
    try:
        for part in stream:
            log += part
            while found < times and (at := log.find(text, looked_at)) >= 0:
                found += 1
                looked_at = at + len(text)
            if found >= times:
                break
            # The text may continue in the next part. Searching the whole log for each part would take quadratic time.
            looked_at = max(looked_at, len(log) - len(text) + 1)
    finally:
        end.cancel()
        end.join()
        hang_up(stream)
    return log.decode("utf-8", errors="replace")
