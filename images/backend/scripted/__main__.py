"""``python3 -m scripted`` serves on port 8000 until SIGINT, and meanwhile handles the calls on standard input."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

from tuneproof.lab.protocol import scripted as protocol
from tuneproof.lab.protocol.names import answer_names
from tuneproof.lab.protocol.serving import Answers

from .faults import Faults
from .player import Player

PORT: Final = 8000
_BACKLOG: Final = 4096
_DNS_PORT: Final = 53

A = TypeVar("A")


class Scripted(protocol.Scripted):
    """The backend's methods, called from another thread than that of its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, player: Player, faults: Faults | None = None) -> None:
        self._loop = loop
        self._player = player
        self._faults = faults or Faults()

    def play(self, replies: tuple[protocol.Reply, ...]) -> None:
        """Start over; see player.py."""
        self._run(self._player.play(replies))

    def send(self, text: str, times: int, path: str = "/") -> int:
        """Write to open streams."""
        return self._run(self._player.send(text, times, path))

    def end_streams(self) -> None:
        """End open streams."""
        self._run(self._player.end_streams())

    def end_connections(self, resets: bool) -> int:  # noqa: FBT001 - see the protocol
        """End open connections."""
        return self._run(self._player.end_connections(resets=resets))

    def name(self, addresses: Mapping[str, str], ttl_s: int) -> None:
        """Set the addresses of names."""
        self._run(self._player.name(addresses, ttl_s))

    def fault(self, says: str, then: str) -> None:
        """Set the response for BROKEN_PORT."""
        self._run(self._faults.say(says, then))

    def seen(self) -> protocol.Seen:
        """Return what the backend has seen."""
        return self._run(self._player.seen())

    def _run(self, what: Coroutine[Any, Any, A]) -> A:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()


def main() -> None:
    """Serve, and print a line; then answer the calls on standard input."""
    loop, player, faults = asyncio.new_event_loop(), Player(), Faults()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    serving = asyncio.start_server(player.converse, "0.0.0.0", PORT, backlog=_BACKLOG)  # noqa: S104 - the lab's network
    server = asyncio.run_coroutine_threadsafe(serving, loop).result()
    asyncio.run_coroutine_threadsafe(answer_names(_DNS_PORT, player.answer_to_name), loop).result()
    asyncio.run_coroutine_threadsafe(faults.serve(), loop).result()
    sys.stdout.write(f"Serving HTTP on port {PORT} as it is told\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        Answers(protocol.Scripted, Scripted(loop, player, faults)).serve(sys.stdin, sys.stdout)
    server.close()


if __name__ == "__main__":
    main()
