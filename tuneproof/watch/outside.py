"""From outside, without privileges: how late a server answers small requests on connections that are kept.

A worker serves a connection from its first byte to its last. Of connections that are asked at the same time, those of a
worker whose event loop stalls are late, and the others are not; what all of them share (the path, a busy machine) is no
worker's own. So only connections of the same few seconds are compared.
"""

import asyncio
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from tuneproof.errors import BadInputError
from tuneproof.explain.parse.figures import distribution
from tuneproof.wording import count, seconds

CONNECTIONS: Final = 12
"""With reuseport and two workers, one round in 2,048 meets only one of them; with four, one in eight misses one."""
RATE_HZ: Final = 20.0
"""Requests per second on each connection."""
ROUND_REQUESTS: Final = 90
"""On one connection, which is then renewed: nginx closes it after keepalive_requests, 100 by default before 1.19.10."""
LATE_S: Final = 0.005
"""Beyond the usual round trip: as long as an iteration that `watch` lists from inside."""
_TIMEOUT_S: Final = 5.0
_LEAST_ANSWERS: Final = 20
# The largest step between connections' shares of late answers, in ascending order. Of 90 answers of which chance makes
# a fifth late, the shares of twelve connections lie closer together; one worker that stalls makes half of them late.
_STEP: Final = 0.15
# Every connection alike: no healthy server answers half of all small requests late, on a noisy machine neither.
_ALL_LATE: Final = 0.5
_ROUNDS_SHARE: Final = 0.5

Round = Sequence[Sequence[float]]
"""Times of answers in seconds, of each connection that lived at the same time."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A round's connections, apart by how late they are; all of them prompt where no step stands out."""

    late: tuple[float, ...]
    prompt: tuple[float, ...]
    late_connections: int


def watch_url(url: str, *, lasts_s: float) -> Iterator[str]:
    """Measure for a while, then yield the report. BadInputError: The URL cannot be used, or nothing answers there."""
    target = _Target.of(url)
    rounds, failures = asyncio.run(_measure(target, lasts_s))
    if not any(answers for each in rounds for answers in each):
        raise BadInputError(f"Nothing answers: {'; '.join(sorted(failures))}", where=f"{target.address}:{target.port}")
    yield from report(rounds, failures)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """The one address that requests go to."""

    family: int
    address: str
    port: int
    request: bytes
    tls: ssl.SSLContext | None
    host: str

    @classmethod
    def of(cls, url: str) -> "_Target":
        parts = urlsplit(url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            host = parts.hostname or ""
            # Once: a name that changes its address meanwhile must not spread the requests.
            family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        except (ValueError, OSError) as error:
            raise BadInputError(f"{url}: {error}", remedy="such as http://10.0.0.7/") from error
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        user = "User-Agent: tuneproof-watch"
        request = f"HEAD {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n{user}\r\n\r\n"
        return cls(
            family=family,
            address=str(place[0]),
            port=port,
            request=request.encode("ascii", "replace"),
            tls=ssl.create_default_context() if parts.scheme == "https" else None,
            host=host,
        )


async def _measure(target: _Target, lasts_s: float) -> tuple[list[Round], Counter[str]]:
    ends_s = time.monotonic() + lasts_s
    rounds: list[Round] = []
    failures: Counter[str] = Counter()
    while time.monotonic() < ends_s:
        # Spread over the time between two requests, so that together they meet every stall.
        lives = [_keep(target, ends_s, number / CONNECTIONS / RATE_HZ, failures) for number in range(CONNECTIONS)]
        rounds.append(await asyncio.gather(*lives))
    return rounds, failures


async def _keep(target: _Target, ends_s: float, starts_in_s: float, failures: Counter[str]) -> list[float]:
    """Ask on one connection until its round is over; return how long the answers took."""
    await asyncio.sleep(starts_in_s)
    took: list[float] = []
    writer = None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(
                target.address,
                target.port,
                family=target.family,
                ssl=target.tls,
                server_hostname=target.host if target.tls else None,
            )
        await _ask(reader, writer, target.request, took, ends_s)
    except (OSError, EOFError, asyncio.LimitOverrunError, TimeoutError) as error:
        failures[str(error) or "timed out"] += 1
        # Who refuses at once is asked no more often than who answers.
        await asyncio.sleep(1 / RATE_HZ)
    finally:
        if writer is not None:
            writer.close()
    return took


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, took: list[float], ends_s: float
) -> None:
    """Ask at the rate; an answer that is later than that delays the next question to the next tick."""
    due_s = time.monotonic()
    for _ in range(ROUND_REQUESTS):
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        asked_s = time.monotonic()
        if asked_s >= ends_s:
            return
        writer.write(request)
        async with asyncio.timeout(_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        took.append(time.monotonic() - asked_s)
        if b"connection: close" in head.lower():
            return
        due_s += (int((time.monotonic() - due_s) * RATE_HZ) + 1) / RATE_HZ


def usual_s(rounds: Iterable[Round]) -> float:
    """Return the usual round trip: what one answer in ten is faster than."""
    times = sorted(took for each in rounds for answers in each for took in answers)
    return times[len(times) // 10]


def split(of: Round, usual: float) -> Split:
    """Part the connections of a round where their shares of late answers make the largest step."""
    asked = [answers for answers in of if len(answers) >= _LEAST_ANSWERS]
    shares = sorted((_late_share(answers, usual), number) for number, answers in enumerate(asked))
    steps = [(after[0] - before[0], at) for at, (before, after) in enumerate(pairwise(shares), start=1)]
    step, at = max(steps, default=(0.0, 0))
    order = [number for _, number in shares]
    first_late = at if step >= _STEP else len(order)
    late, prompt = order[first_late:], order[:first_late]
    return Split(
        late=tuple(took for number in late for took in asked[number]),
        prompt=tuple(took for number in prompt for took in asked[number]),
        late_connections=len(late),
    )


def _late_share(answers: Sequence[float], usual: float) -> float:
    return sum(took >= usual + LATE_S for took in answers) / len(answers) if answers else 0.0


def report(rounds: Sequence[Round], failures: Mapping[str, int]) -> Iterator[str]:
    """Yield what the rounds show, as lines of plain text; those that are indented belong to the one before."""
    usual = usual_s(rounds)
    everything = [took for each in rounds for answers in each for took in answers]
    yield (
        f"{count(len(everything), 'answer')} on {CONNECTIONS} connections at a time, renewed after {ROUND_REQUESTS} "
        f"requests; usual round trip {seconds(usual)}."
    )
    for failure, number in failures.items():
        yield f"{count(number, 'connection')} failed: {failure}."
    splits = [split(each, usual) for each in rounds if any(len(answers) >= _LEAST_ANSWERS for answers in each)]
    parted = [each for each in splits if each.late_connections]
    if not splits:
        yield "Too few answers to compare connections."
    elif len(parted) >= _ROUNDS_SHARE * len(splits):
        late = [took for each in parted for took in each.late]
        prompt = [took for each in parted for took in each.prompt]
        yield (
            f"Found: the event loop of one worker, or of some, stalls: in {len(parted)} of {len(splits)} rounds "
            f"{count(sum(each.late_connections for each in parted), 'connection')} were late while others were not."
        )
        yield f"  late:   {_told(late)}"
        yield f"  prompt: {_told(prompt)}"
        yield "  Next: on the server, as root: tuneproof watch; it names the worker and what it does."
    elif _late_share(everything, usual) >= _ALL_LATE:
        yield "Possible: all workers stall, or the machine or the path is slow: every connection is late alike."
        yield f"  all:    {_told(everything)}"
    else:
        yield f"No problem found: connections are answered alike. {_told(everything)}"
    yield (
        "Not seen from outside: which worker it is, what it does, a worker that took none of these connections, stalls "
        f"shorter than {seconds(LATE_S)}."
    )


def _told(times: Sequence[float]) -> str:
    found = distribution(times)
    if found is None:
        return "no answer"
    return f"p50 {seconds(found.median)}, p99 {seconds(found.p99)}, longest {seconds(found.maximum)}"
