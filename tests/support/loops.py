"""Event loops that serve a test from a separate thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop; at the end, wait for its tasks, since a handler closes its connection after the peer's end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_others_end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _others_end() -> None:
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)
