"""Background traffic around a service: it goes only to the given address, and continues after errors."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from images.netadmin.netadmin import street


class NoMoreAddressesError(Exception):
    """Ends background traffic, which would otherwise never end."""


def walk(errand: street.Errand, *addresses: str) -> None:
    """Run a task repeatedly, each time with the next address, until none is left."""
    left = iter(addresses)

    def target() -> str:
        for address in left:
            return address
        raise NoMoreAddressesError

    with pytest.raises(NoMoreAddressesError):
        asyncio.run(street._walk(errand, target))


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(street, "_PAUSE_S", 0.0)


def test_a_task_continues_after_errors_and_runs_whenever_there_is_an_address() -> None:
    tried: list[str] = []
    errors = (OSError(), TimeoutError(), asyncio.IncompleteReadError(b"", 1))

    async def errand(address: str) -> None:
        tried.append(address)
        raise errors[len(tried) - 1]

    walk(errand, "", "10.0.0.1", "10.0.0.1", "10.0.0.2", "")
    assert tried == ["10.0.0.1", "10.0.0.1", "10.0.0.2"]


def test_the_firewall_drops_all_packets_to_two_ports_and_some_to_the_database() -> None:
    """It drops packets on arrival: the captures of both sides contain them, and their retransmissions."""
    rules = street.firewall(side="dport")
    assert "hook input" in rules
    assert "tcp dport { 23, 3389 } drop" in rules
    assert "tcp dport 5432 numgen random mod 12 0 drop" in rules
    assert "tcp sport 5432" in street.firewall(side="sport")


def test_a_service_that_closes_ends_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(street._BANNER)
        writer.close()

    async def talk() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            monkeypatch.setattr(street, "SSH_PORT", server.sockets[0].getsockname()[1])
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await street._log_in("127.0.0.1")

    asyncio.run(asyncio.wait_for(talk(), 20))


@pytest.mark.parametrize(
    ("errand", "serve", "port", "answers"),
    [
        (street._log_in, street._greet, "SSH_PORT", [street._BANNER, b"*******\n", b"********\n", b"*****\n"]),
        (street._look_up, street._query, "DATABASE_PORT", [bytes(6000)] * 12),
    ],
    ids=["ssh", "database"],
)
def test_the_machines_services_answer(
    errand: street.Errand,
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    port: str,
    answers: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []

    async def recording(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        write = writer.write

        def record(data: bytes) -> None:
            sent.append(data)
            write(data)

        monkeypatch.setattr(writer, "write", record)
        await serve(reader, writer)

    async def talk() -> None:
        async with await asyncio.start_server(recording, "127.0.0.1", 0) as server:
            monkeypatch.setattr(street, port, server.sockets[0].getsockname()[1])
            await errand("127.0.0.1")

    asyncio.run(asyncio.wait_for(talk(), 20))
    assert sent == answers
