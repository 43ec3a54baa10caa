"""DNS answers (RFC 1035): every name resolves, either to its own address in the lab or to the stand-in's."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

_HEADER: Final = struct.Struct("!6H")
_QUESTION: Final = struct.Struct("!2H")
_ANSWER: Final = struct.Struct("!3HIH")
# A response to a recursive query, without error.
_FLAGS: Final = 0x8180
_A: Final = 1
_IN: Final = 1
_POINTER_TO_QUESTION: Final = 0xC00C
_TTL_S: Final = 30
_OWN_NAME: Final = "standin"


class _Names(asyncio.DatagramProtocol):
    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(self._answer(data), addr)  # type: ignore[attr-defined]  # a datagram's transport


def usual_address(name: str) -> str:
    """Return a name's address in the lab, or else the stand-in's; 127.0.0.1 if there is no stand-in."""
    for known in (name, _OWN_NAME):
        try:
            return socket.gethostbyname(known)
        except OSError:
            continue
    return "127.0.0.1"


def answer_to(question: bytes, *, address_of: Callable[[str], str] = usual_address, ttl_s: int = _TTL_S) -> bytes:
    """Return the answer to one query: an address for type A, no records for all others."""
    number, *_ = _HEADER.unpack_from(question)
    labels, at = [], _HEADER.size
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    kind, _ = _QUESTION.unpack_from(question, at + 1)
    asked = question[_HEADER.size : at + 1 + _QUESTION.size]
    if kind != _A:
        return _HEADER.pack(number, _FLAGS, 1, 0, 0, 0) + asked
    address = socket.inet_aton(address_of(".".join(labels)))
    record = _ANSWER.pack(_POINTER_TO_QUESTION, _A, _IN, ttl_s, len(address)) + address
    return _HEADER.pack(number, _FLAGS, 1, 1, 0, 0) + asked + record


async def answer_names(
    port: int,
    answer: Callable[[bytes], bytes] = answer_to,
    *,
    address: str = "0.0.0.0",  # noqa: S104 - the lab's network
) -> asyncio.BaseTransport:
    """Answer on a UDP port from now on; return the transport, which must be closed to stop."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Names(answer), local_addr=(address, port))
    return transport
