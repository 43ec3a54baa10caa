"""`watch URL` separates connections that are late, and limits its requests to a server."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest

from tests.support.closed_ports import closed_port
from tests.support.served import Quiet, serving
from tuneproof.errors import BadInputError
from tuneproof.watch import outside
from tuneproof.watch.outside import CONNECTIONS, RATE_HZ, Measured, Round, report, split, watch_url

PROMPT_S = 0.0004
ANSWERS = 90


def a_round(*late_shares: float, seed: int = 1) -> list[list[float]]:
    """Return connections with 90 responses each; these shares of the responses, drawn at random, are 20 ms late."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    return [[PROMPT_S + (0.02 if chance.random() < late else 0.0) for _ in range(ANSWERS)] for late in late_shares]


def reported(*rounds: Round, **failures: int) -> list[str]:
    return list(report(Measured(rounds=[*rounds], failures=Counter(failures))))


@pytest.mark.parametrize("late", [1, 5, 6, 11])
def test_the_late_connections_are_separated_from_the_others(late: int) -> None:
    parted = split(a_round(*[0.6] * late, *[0.02] * (CONNECTIONS - late)))
    assert parted.late_connections == late
    assert len(parted.late) == late * ANSWERS


@pytest.mark.parametrize(
    "everywhere", [0.0, 0.05, 0.3, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.2, 0.6))]
)
def test_connections_that_are_late_equally_often_are_rarely_separated(everywhere: float) -> None:
    """A noisy machine makes all connections late equally often; by chance, some stand out in a few of 300 rounds."""
    parted = [split(a_round(*[everywhere] * CONNECTIONS, seed=seed)).late_connections > 0 for seed in range(300)]
    assert sum(parted) <= 10


def test_if_the_machine_makes_all_connections_late_those_of_a_stalled_worker_are_separated() -> None:
    """On a machine short of CPU, no response is prompt; a stalled worker's responses take several times as long.

    Connections with similar means are not separated.
    """
    prompt, late = [[0.045] * 47] * 5, [[0.190] * 20] * 7
    assert split([*prompt, *late]).late_connections == 7
    assert split([[0.016 + 0.0004 * number] * 60 for number in range(CONNECTIONS)]).late_connections == 0


def test_a_stall_is_reported_with_both_groups() -> None:
    stalled, healthy = a_round(*[0.6] * 5, *[0.02] * 7), a_round(*[0.02] * 12)
    lines = reported(*[stalled] * 4, healthy)
    assert lines[1] == (
        "Found: at least one worker or machine stalls: in 4 of 5 rounds 20 connections were late while others were not."
    )
    assert lines[2] == "  late:   p50 20.4 ms, p99 20.4 ms, longest 20.4 ms"
    assert lines[3].startswith("  prompt: p50 0.4 ms, ")
    rarely = reported(stalled, *[healthy] * 4)[1]
    assert rarely.startswith("No problem found: some connections were late in only 1 of 5 rounds. p50 0.4 ms, ")
    assert reported(*[healthy] * 5)[1].startswith("No problem found: no connection is later than the others. ")


def test_if_every_connection_is_late_all_workers_may_stall() -> None:
    lines = reported(*[a_round(*[0.8] * CONNECTIONS)] * 3, refused=2)
    assert lines[1] == "2 connections failed: refused."
    assert lines[2].startswith("Possible: all workers stall, or the machine or the path is slow")


def test_connections_with_too_few_responses_are_not_compared() -> None:
    assert reported([[PROMPT_S]] * CONNECTIONS)[1] == "Too few answers to compare connections."


class _KeepAlive(Quiet):
    """A handler that answers each HEAD at once, and keeps the connection open unless it ``closes``."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, int]]
    most = 1_000_000
    then = 503
    closes = 0

    def do_HEAD(self) -> None:  # noqa: N802 - the name in the base class
        self.asked.append(self.client_address)
        self.send_response(200 if len(self.asked) <= self.most else self.then)
        self.send_header("Content-Length", "0")
        if self.closes:
            self.send_header("Connection", "close")
        self.end_headers()


class _Server(ThreadingHTTPServer):
    # Python's backlog of 5 drops SYNs of simultaneous connections, which are repeated after a second.
    request_queue_size = 2 * CONNECTIONS


@contextmanager
def asked_server(**more: int) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield a server's address, and the source of each request."""
    asked: list[tuple[str, int]] = []
    handler = type("Handler", (_KeepAlive,), {"asked": asked, **more})
    with serving(_Server(("127.0.0.1", 0), handler)) as address:
        yield f"{address}/x", asked


def test_watching_limits_its_rate_and_renews_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first server answers as many requests as a round can have, so the first refused one is in another round."""
    monkeypatch.setattr(outside, "ROUND_S", 0.5)
    most = int(0.5 * RATE_HZ + 1)
    with asked_server(most=most * CONNECTIONS) as (url, asked):
        list(watch_url(url, lasts_s=60))
    per_connection = Counter(asked)
    assert len(per_connection) > CONNECTIONS
    assert max(per_connection.values()) <= most
    with asked_server() as (url, asked):
        lines = list(watch_url(url, lasts_s=0.6))
    assert len(asked) <= 0.6 * RATE_HZ * CONNECTIONS + 2 * CONNECTIONS
    assert lines[0].startswith(f"{len(asked)} answers on 12 connections at a time")


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_limits_requests_gets_no_further_ones(status: int) -> None:
    """A refusal is fast, but does not count as a worker's prompt response."""
    began_s = time.monotonic()
    with asked_server(most=30, then=status) as (url, asked):
        lines = list(watch_url(url, lasts_s=60))
    assert time.monotonic() - began_s < 30
    # Each connection may have sent one more request by then.
    assert len(asked) <= 30 + CONNECTIONS
    assert lines[0].startswith(f"Stopped after 30 answers: the server answered {status}.")
    assert not any("problem" in line for line in lines)


def test_without_a_listener_the_error_is_reported() -> None:
    with (
        closed_port() as port,
        pytest.raises(BadInputError, match=r"^No request was answered: Connection refused\n") as caught,
    ):
        list(watch_url(f"http://127.0.0.1:{port}/", lasts_s=0.2))
    assert "curl -I" in caught.value.remedy


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:x/", "http://no-such-host.invalid/"])
def test_an_unusable_url_is_rejected(url: str) -> None:
    with pytest.raises(BadInputError):
        list(watch_url(url, lasts_s=0.2))


def test_a_response_that_closes_the_connection_is_not_a_failure() -> None:
    """A server with keepalive_timeout 0 only sends fewer responses."""
    with asked_server(closes=1) as (url, asked):
        found = asyncio.run(outside._measure(outside._Target.of(url), 0.5))
    assert asked
    assert not found.failures
    assert any(answers for each in found.rounds for answers in each)
