"""From outside, without privileges: how late a server answers small requests on connections that are kept.

A worker serves a connection from its first byte to its last. Of connections that are asked at the same time, those of a
worker whose event loop stalls are late, and the others are not; what all of them share (the path, a busy machine) is no
worker's own. So only connections of the same few seconds are compared.
"""

import asyncio
import random
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import mean
from typing import Final
from urllib.parse import urlsplit

from tuneproof.errors import BadInputError
from tuneproof.explain.parse.figures import distribution
from tuneproof.wording import count, seconds

CONNECTIONS: Final = 12
"""With reuseport and two workers, one round in 2,048 meets only one of them; with four, one in eight misses one."""
RATE_HZ: Final = 20.0
"""Requests per second on each connection."""
ROUND_S: Final = 4.5
"""So long a connection lives, for 90 requests at most: nginx closes it after keepalive_requests, 100 before 1.19.10."""
LATE_S: Final = 0.005
"""Beyond the usual round trip: as long as an iteration that `watch` lists from inside."""
_TIMEOUT_S: Final = 5.0
# The largest step between the mean times of connections, in ascending order and each with LATE_S added, as a ratio. The
# gaps of the machine and of the path meet all of them: on two CPUs with fifteen programs that wanted one, the means of
# healthy workers' connections were 1.09 apart at most. A worker that adds LATE_S to each answer makes 2 of it.
_STEP: Final = 1.5
_LEAST_ANSWERS: Final = 2 * CONNECTIONS
"""In a round: of a server that keeps no connections there is one on each, and chance parts them."""
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
        until_s = min(ends_s, time.monotonic() + ROUND_S)
        lives = [_keep(target, until_s, failures) for _ in range(CONNECTIONS)]
        rounds.append(await asyncio.gather(*lives))
    return rounds, failures


async def _keep(target: _Target, ends_s: float, failures: Counter[str]) -> list[float]:
    """Ask on one connection until its round is over; return how long the answers took."""
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
    """Ask at the rate; an answer that is later than that delays the next question to the next tick.

    Each at a random moment of its tick: what keeps a machine busy at regular times, as a CPU quota does, would meet the
    same connections again and again.
    """
    tick_s = time.monotonic()
    while True:
        due_s = tick_s + random.random() / RATE_HZ  # noqa: S311 - a moment, no secret
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
        tick_s += (int((time.monotonic() - tick_s) * RATE_HZ) + 1) / RATE_HZ


def usual_s(rounds: Iterable[Round]) -> float:
    """Return the usual round trip: what one answer in ten is faster than."""
    times = sorted(took for each in rounds for answers in each for took in answers)
    return times[len(times) // 10]


def split(of: Round) -> Split:
    """Part the connections of a round where their mean times make the largest step."""
    asked = sorted((answers for answers in of if answers), key=mean)
    steps = [
        ((mean(after) + LATE_S) / (mean(before) + LATE_S), at)
        for at, (before, after) in enumerate(pairwise(asked), start=1)
    ]
    step, at = max(steps, default=(1.0, 0))
    first_late = at if step >= _STEP else len(asked)
    return Split(
        late=tuple(chain.from_iterable(asked[first_late:])),
        prompt=tuple(chain.from_iterable(asked[:first_late])),
        late_connections=len(asked) - first_late,
    )


def report(rounds: Sequence[Round], failures: Mapping[str, int]) -> Iterator[str]:
    """Yield what the rounds show, as lines of plain text; those that are indented belong to the one before."""
    usual = usual_s(rounds)
    everything = [took for each in rounds for answers in each for took in answers]
    yield (
        f"{count(len(everything), 'answer')} on {CONNECTIONS} connections at a time, renewed every {ROUND_S:g} s; "
        f"usual round trip {seconds(usual)}."
    )
    for failure, number in failures.items():
        yield f"{count(number, 'connection')} failed: {failure}."
    splits = [split(each) for each in rounds if sum(map(len, each)) >= _LEAST_ANSWERS]
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
    elif sum(took >= usual + LATE_S for took in everything) >= _ALL_LATE * len(everything):
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
