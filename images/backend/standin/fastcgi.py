"""FastCGI as a responder (https://fastcgi-archives.github.io/FastCGI_Specification.html), one request at a time."""

import asyncio
import struct
from functools import partial
from typing import Final

from . import events
from .answers import asked_bytes, head_lines

_RECORD: Final = struct.Struct("!BBHHBx")
_VERSION, _BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 1, 3, 4, 5, 6
_KEEP_CONNECTION: Final = 1
_LONG_LENGTH: Final = 0x80
_RECORD_BYTES: Final = 32768
_RECORDS: Final = 16
_EVENTS: Final = "HTTP_X_TUNEPROOF_EVENTS"


async def talk(first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    """Answer requests until the peer closes the connection, or one without FCGI_KEEP_CONN has been answered."""
    left, count = first, 0
    params, keeps = b"", False
    while True:
        try:
            header = left + await reader.readexactly(_RECORD.size - len(left))
        except asyncio.IncompleteReadError:
            return
        left = b""
        _version, kind, request, length, padding = _RECORD.unpack(header)
        content = (await reader.readexactly(length + padding))[:length]
        if kind == _BEGIN:
            params, keeps = b"", bool(content[2] & _KEEP_CONNECTION)
        elif kind == _PARAMS:
            params += content
        elif kind == _STDIN and not content:
            count += 1
            if asked := events.asked_events({events.ASKED_HEADER: names_and_values(params).get(_EVENTS, "")}):
                head = "\r\n".join(["Status: 200 OK", *events.head_lines(number, count), "", ""]).encode()
                writer.write(_record(_STDOUT, request, head))
                await events.ALL.stream(reader, writer, asked, partial(_record, _STDOUT, request))
            await _answer(writer, request, names_and_values(params), number, count)
            if not keeps:
                return


async def _answer(writer: asyncio.StreamWriter, request: int, params: dict[str, str], number: int, count: int) -> None:
    size = asked_bytes({"x-tuneproof-bytes": params.get("HTTP_X_TUNEPROOF_BYTES", "")})
    head = "\r\n".join(["Status: 200 OK", *head_lines(number, count, size), "", ""]).encode()
    writer.write(_record(_STDOUT, request, head))
    if params.get("REQUEST_METHOD") != "HEAD":
        block = _record(_STDOUT, request, bytes(_RECORD_BYTES)) * _RECORDS
        for _ in range(size // (_RECORD_BYTES * _RECORDS)):
            writer.write(block)
            await writer.drain()
        rest = size % (_RECORD_BYTES * _RECORDS)
        for part in (_RECORD_BYTES,) * (rest // _RECORD_BYTES), (rest % _RECORD_BYTES,):
            writer.write(b"".join(_record(_STDOUT, request, bytes(length)) for length in part if length))
    writer.write(_record(_STDOUT, request, b"") + _record(_END, request, bytes(8)))
    await writer.drain()


def _record(kind: int, request: int, content: bytes) -> bytes:
    return _RECORD.pack(_VERSION, kind, request, len(content), 0) + content


def names_and_values(content: bytes) -> dict[str, str]:
    """Return the parameters of a PARAMS stream (section 3.4)."""
    found, at = {}, 0
    while at < len(content):
        sizes = []
        for _ in range(2):
            if content[at] & _LONG_LENGTH:
                sizes.append(int.from_bytes(content[at : at + 4], "big") & 0x7FFFFFFF)
                at += 4
            else:
                sizes.append(content[at])
                at += 1
        name, value = content[at : at + sizes[0]], content[at + sizes[0] : at + sum(sizes)]
        found[name.decode("latin-1")] = value.decode("latin-1")
        at += sum(sizes)
    return found
