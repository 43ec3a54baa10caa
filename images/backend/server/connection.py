"""One connection to the backend: takes bytes, and sends responses."""

import asyncio
from typing import Final, cast

from .answers import Answer, Then, answer_to

_HEAD_END: Final = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """Answers requests in order, each as soon as its headers are complete."""

    # Many thousands of connections are open at once.
    __slots__ = ("_deaf", "_page", "_received", "_transport", "_waits")

    def __init__(self, page: bytes) -> None:
        self._page = page
        self._received = b""
        # After an endless response, or the last one, no further requests are answered.
        self._deaf = False
        # While a delayed response waits, later requests wait for it.
        self._waits = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the responses."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the transport, since it references this object as well."""
        del exc
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Answer every request that is already complete."""
        if self._deaf:
            return
        # Empty lines before a request are skipped (RFC 9112, section 2.2).
        received = (self._received + data).lstrip(b"\r\n")
        while not self._deaf and not self._waits and (end := received.find(_HEAD_END)) >= 0:
            self._give(answer_to(received[:end], page=self._page))
            received = received[end + len(_HEAD_END) :].lstrip(b"\r\n")
        self._received = b"" if self._deaf else received

    def _give(self, answer: Answer) -> None:
        if answer.after_s:
            self._waits = True
            asyncio.get_running_loop().call_later(answer.after_s, self._give_late, answer)
        else:
            self._send(answer)

    def _give_late(self, answer: Answer) -> None:
        """Send a delayed response, unless the client has left, and handle what has arrived since."""
        self._waits = False
        if self._transport is not None and not self._deaf:
            self._send(answer)
            self.data_received(b"")

    def _send(self, answer: Answer) -> None:
        transport = cast("asyncio.Transport", self._transport)
        transport.write(answer.data)
        self._deaf = answer.then is not Then.KEEP
        if answer.then is Then.CLOSE:
            transport.close()
