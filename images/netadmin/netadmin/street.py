"""Other traffic around a service, on a machine that strangers can reach.

An incident's capture never contains only one service. Three parts generate the rest, each in a role's own network
namespace:

machine
    next to nginx: ssh, a database with some packets dropped on arrival, and ports where a firewall drops everything; it
    also resolves names and requests the provider's metadata.
provider
    next to a backend: a name server, and the metadata service that clouds have at 169.254.169.254.
strangers
    next to the client: they scan ports without a listener, and ports that the firewall blocks; they log in by ssh, talk
    to the database, and try to reach the service over IPv6, without success.

All of this is ordinary traffic on ordinary sockets, except IPv6: the lab's containers have none, so the attempts and
their refusals are sent as frames.
"""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Final

from tuneproof.lab.protocol.names import answer_names

from .addresses import run
from .links import ROLE_LINK, open_link

SSH_PORT: Final = 22
NAMES_PORT: Final = 53
METADATA_ADDRESS: Final = "169.254.169.254"
METADATA_PORT: Final = 80
DATABASE_PORT: Final = 5432
SILENT_PORTS: Final = (23, 3389)
CLOSED_PORTS: Final = (21, 25, 445, 3306, 6379, 8443)
SERVICE_PORT: Final = 80
"""The port to which strangers send SYNs over IPv6."""

_LOST_ONE_IN: Final = 12
_FIREWALL: Final = """\
table inet tuneproof-street {{
    chain in {{
        type filter hook input priority 0; policy accept;
        tcp dport {{ {silent} }} drop
        tcp {side} {database} numgen random mod {lost} 0 drop
    }}
}}
"""
_PAUSE_S: Final = 0.25
_SILENT_FOR_S: Final = 1.5
_QUERIES: Final = 12
_QUERY_BYTES: Final = 200
_ROWS_BYTES: Final = 6000
_BANNER: Final = b"SSH-2.0-street\r\n"
# A query for the IPv4 address of api.example (RFC 1035).
_QUESTION: Final = bytes.fromhex("123401000001000000000000") + b"\x03api\x07example\x00\x00\x01\x00\x01"
_PATIENCE_S: Final = 5.0
_IPV6: Final = 0x86DD
_PORTS: Final = itertools.cycle(range(40000, 60000))
_CLOSED: Final = itertools.cycle(CLOSED_PORTS)
_SILENT: Final = itertools.cycle(SILENT_PORTS)
# The start of a frame to each machine.
_FRAMES: Final[dict[str, object]] = {}


def firewall(*, side: str) -> str:
    """Return nft(8)'s rules: silent ports, and losses on arrival to ("dport") or from ("sport") the database."""
    silent = ", ".join(map(str, SILENT_PORTS))
    return _FIREWALL.format(silent=silent, side=side, database=DATABASE_PORT, lost=_LOST_ONE_IN)


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer like an ssh server, line by line."""
    with contextlib.suppress(OSError):
        writer.write(_BANNER)
        while line := await reader.readline():
            writer.write(b"*" * len(line) + b"\n")
        writer.close()


async def _query(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer like a database: some rows for each query."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while await reader.readexactly(_QUERY_BYTES):
            writer.write(bytes(_ROWS_BYTES))
            await writer.drain()
    writer.close()


async def _tell_metadata(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\ni-tuneproof")
        await writer.drain()
    writer.close()


async def _connect(address: str, port: int, *, within_s: float) -> None:
    """Connect and leave, if anything answers."""
    with contextlib.suppress(OSError, TimeoutError):
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), within_s)
        writer.close()


async def _log_in(address: str) -> None:
    reader, writer = await asyncio.open_connection(address, SSH_PORT)
    try:
        await reader.readuntil(b"\n")
        for command in (b"uptime\n", b"free -m\n", b"exit\n"):
            writer.write(command)
            await reader.readuntil(b"\n")
    finally:
        writer.close()


async def _look_up(address: str) -> None:
    reader, writer = await asyncio.open_connection(address, DATABASE_PORT)
    try:
        for _ in range(_QUERIES):
            writer.write(bytes(_QUERY_BYTES))
            await reader.readexactly(_ROWS_BYTES)
    finally:
        writer.close()


async def _ask_name(address: str) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        await loop.sock_connect(asking, (address, NAMES_PORT))
        await loop.sock_sendall(asking, _QUESTION)
        await asyncio.wait_for(loop.sock_recv(asking, 512), _PATIENCE_S)


async def _ask_metadata(_address: str) -> None:
    reader, writer = await asyncio.open_connection(METADATA_ADDRESS, METADATA_PORT)
    try:
        writer.write(b"GET /latest/meta-data/instance-id HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n")
        await reader.read()
    finally:
        writer.close()


async def _scan(address: str) -> None:
    for _ in range(2):
        await _connect(address, next(_CLOSED), within_s=_PATIENCE_S)
    await _connect(address, next(_SILENT), within_s=_SILENT_FOR_S)


async def _try_ipv6(address: str) -> None:
    """Send a SYN to the service over IPv6; :func:`_refuse_ipv6` answers it."""
    from scapy.arch import get_if_hwaddr  # noqa: PLC0415 - it takes half a second; only some parts need it
    from scapy.layers.inet import TCP  # noqa: PLC0415
    from scapy.layers.inet6 import IPv6  # noqa: PLC0415
    from scapy.layers.l2 import Ether, getmacbyip  # noqa: PLC0415

    if address not in _FRAMES:
        mac = await asyncio.to_thread(getmacbyip, address)
        if mac is None:
            return
        _FRAMES[address] = Ether(src=get_if_hwaddr(ROLE_LINK), dst=mac) / IPv6(src=_ipv6("7"), dst=_ipv6("1"))
    port = next(_PORTS)
    frame = _FRAMES[address] / TCP(sport=port, dport=SERVICE_PORT, flags="S", seq=port, options=[("MSS", 1440)])
    with open_link() as link:
        link.send(bytes(frame))


def _ipv6(host: str) -> str:
    # These addresses are for documentation only, and never routed: RFC 3849.
    return f"2001:db8::{host}"


async def _refuse_ipv6() -> None:
    """Answer SYNs over IPv6 like a kernel without a listener (RFC 9293, section 3.10.7.1)."""
    from scapy.layers.inet import TCP  # noqa: PLC0415
    from scapy.layers.inet6 import IPv6  # noqa: PLC0415
    from scapy.layers.l2 import Ether  # noqa: PLC0415

    link = open_link(_IPV6)
    link.setblocking(False)
    loop = asyncio.get_running_loop()
    while True:
        asked = Ether(await loop.sock_recv(link, 2048))
        if TCP not in asked or asked[TCP].flags != "S":
            continue
        syn = asked[TCP]
        answer = TCP(sport=syn.dport, dport=syn.sport, flags="RA", seq=0, ack=syn.seq + 1)
        frame = Ether(src=asked.dst, dst=asked.src) / IPv6(src=asked[IPv6].dst, dst=asked[IPv6].src) / answer
        link.send(bytes(frame))


Errand = Callable[[str], Awaitable[None]]


async def _machine() -> tuple[Errand, ...]:
    run("nft", "-f", "-", stdin=firewall(side="dport"))
    run("ip", "route", "replace", f"{METADATA_ADDRESS}/32", "dev", ROLE_LINK)
    for answer, port in ((_greet, SSH_PORT), (_query, DATABASE_PORT)):
        _KEPT.append(await asyncio.start_server(answer, port=port, family=socket.AF_INET))
    _KEPT.append(asyncio.create_task(_refuse_ipv6()))
    return (_ask_name, _ask_metadata)


async def _provider() -> tuple[Errand, ...]:
    run("ip", "address", "replace", f"{METADATA_ADDRESS}/32", "dev", ROLE_LINK)
    _KEPT.append(await asyncio.start_server(_tell_metadata, METADATA_ADDRESS, METADATA_PORT))
    # The answer is the query itself: the content does not matter here.
    await answer_names(NAMES_PORT, bytes)
    return ()


async def _strangers() -> tuple[Errand, ...]:
    run("nft", "-f", "-", stdin=firewall(side="sport"))
    return (_scan, _log_in, _look_up, _try_ipv6)


# The event loop keeps only weak references to tasks.
_KEPT: Final[list[object]] = []
_PARTS: Final[dict[str, Callable[[], Awaitable[tuple[Errand, ...]]]]] = {
    "machine": _machine,
    "provider": _provider,
    "strangers": _strangers,
}


async def _walk(errand: Errand, target: Callable[[], str]) -> None:
    """Run a task repeatedly while there is an address to talk to."""
    while True:
        if address := target():
            # Errors do not matter: an address may not answer, or may close the connection.
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await asyncio.wait_for(errand(address), _PATIENCE_S)
        await asyncio.sleep(_PAUSE_S)


async def live(part: str, pipe: Connection) -> None:
    """Generate one part of the traffic, to the IPv4 address received last; none while it is empty.

    The message "ready" means that the part's own services listen.
    """
    addresses = [""]
    asyncio.get_running_loop().add_reader(pipe, lambda: addresses.append(pipe.recv()))
    _KEPT.extend([asyncio.create_task(_walk(errand, lambda: addresses[-1])) for errand in await _PARTS[part]()])
    pipe.send("ready")
    await asyncio.Event().wait()
