"""``python3 -m scripted`` serves on port 8000 and answers calls on standard input, until SIGINT or end of input."""

import asyncio
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from tuneproof.lab.protocol import scripted as protocol
from tuneproof.lab.protocol.names import answer_names
from tuneproof.lab.protocol.serving import Answers

from .faults import Faults
from .player import Player

PORT: Final = 8000
_BACKLOG: Final = 4096
_DNS_PORT: Final = 53

A = TypeVar("A")
P = ParamSpec("P")


class Scripted:
    """The functions of player and faults, callable from a thread other than that of their event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, player: Player, faults: Faults | None = None) -> None:
        def on_loop(function: Callable[P, Coroutine[Any, Any, A]]) -> Callable[P, A]:
            @functools.wraps(function)
            def call(*args: P.args, **given: P.kwargs) -> A:
                return asyncio.run_coroutine_threadsafe(function(*args, **given), loop).result()

            return call

        self.play, self.name, self.seen = on_loop(player.play), on_loop(player.name), on_loop(player.seen)
        self.send, self.end_streams = on_loop(player.send), on_loop(player.end_streams)
        self.end_connections = on_loop(player.end_connections)
        self.fault = on_loop((faults or Faults()).say)


def main() -> None:
    """Start to serve and print a line; then answer the calls on standard input."""
    loop, player, faults = asyncio.new_event_loop(), Player(), Faults()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    serving = asyncio.start_server(player.converse, "0.0.0.0", PORT, backlog=_BACKLOG)  # noqa: S104 - the lab's network
    server = asyncio.run_coroutine_threadsafe(serving, loop).result()
    asyncio.run_coroutine_threadsafe(answer_names(_DNS_PORT, player.answer_to_name), loop).result()
    asyncio.run_coroutine_threadsafe(faults.serve(), loop).result()
    sys.stdout.write(f"Serving HTTP on port {PORT} by script\n")
    sys.stdout.flush()
    scripted: protocol.Scripted = Scripted(loop, player, faults)
    with contextlib.suppress(KeyboardInterrupt):
        Answers(protocol.Scripted, scripted).serve(sys.stdin, sys.stdout)
    server.close()


if __name__ == "__main__":
    main()
