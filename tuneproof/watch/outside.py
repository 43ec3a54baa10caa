"""The view from outside, without privileges: the delays of small requests on keepalive connections.

One worker serves a connection from the first byte to the last. When one worker's event loop stalls, its connections are
late and the others are not; a delay of all connections (the path, a busy machine) is not due to one worker. Therefore
only connections in the same few seconds are compared. Behind a load balancer, one machine may be late instead.
"""

import asyncio
import os
import random
import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import mean
from typing import Final
from urllib.parse import urlsplit

from tuneproof.errors import BadInputError
from tuneproof.explain.parse.figures import distribution
from tuneproof.wording import count, one_line, seconds

CONNECTIONS: Final = 12
"""With reuseport and two workers, one round in 2,048 misses a worker; with four workers, one in eight does."""
RATE_HZ: Final = 20.0
"""Requests per second on each connection."""
ROUND_S: Final = 4.5
"""Lifetime of a connection, at most 90 requests: nginx closes it after keepalive_requests, 100 before 1.19.10."""
LATE_S: Final = 0.005
"""The delay beyond the usual round trip from which a response is late: as long as the iterations that `watch` lists."""
MOST_S: Final = 300.0
"""The maximum duration, since watching from outside sends 240 requests per second."""
_TIMEOUT_S: Final = 5.0
# Statuses with which limit_req, limit_conn and overloaded servers ask for fewer requests; they do not show stalls.
_REFUSED: Final = frozenset({429, 503})
# The least ratio between neighbours in the sorted mean times of connections (LATE_S added to each) that separates them.
# Pauses of the machine and on the path affect all connections: on two CPUs with fifteen busy programs, the means of
# healthy workers' connections differed by a factor of 1.09 at most. If a worker adds LATE_S to each response, the ratio
# is almost 2 for a short round trip.
_STEP: Final = 1.5
_LEAST_ANSWERS: Final = 2 * CONNECTIONS
"""The minimum number of responses in a round: a server without keepalive sends one per connection, and then chance
alone separates connections."""
# If no connections differ, at least this share of late responses is reported: no healthy server answers half of all
# small requests late, even on a noisy machine.
_ALL_LATE: Final = 0.5
_ROUNDS_SHARE: Final = 0.5

Round = Sequence[Sequence[float]]
"""Response times in seconds, for each of the simultaneous connections."""


@dataclass(kw_only=True)
class Measured:
    """The measurements."""

    rounds: list[Round] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)  # of connections
    refused: int = 0  # the status that ended the measurement; 0 for none


@dataclass(frozen=True, kw_only=True)
class Split:
    """A round's response times on late and on prompt connections; all are prompt if no step is large enough."""

    late: tuple[float, ...]
    prompt: tuple[float, ...]
    late_connections: int


def watch_url(url: str, *, lasts_s: float) -> Iterator[str]:
    """Measure for a while, at most :data:`MOST_S`, then yield the report.

    BadInputError: The URL cannot be used, no request is answered, or ``lasts_s`` is too long.
    """
    if lasts_s > MOST_S:
        raise BadInputError(
            f"--seconds {lasts_s:g}: a URL is watched for at most {MOST_S:g} s.",
            remedy="on the server, as root and without a URL, there is no limit",
        )
    target = _Target.of(url)
    found = asyncio.run(_measure(target, lasts_s))
    if not found.refused and not any(answers for each in found.rounds for answers in each):
        failures = "; ".join(sorted(found.failures))
        raise BadInputError(
            f"No request was answered: {one_line(failures)}",
            where=f"{target.address}:{target.port}",
            remedy=f"check with curl -I {url} from this machine",
        )
    yield from report(found)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """The only address to which requests are sent."""

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
            # The name is resolved once: if its address changes, the requests must not be spread.
            family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        except (ValueError, OSError) as error:
            raise BadInputError(f"{url}: {_reason(error)}", remedy="give a URL such as http://10.0.0.7/") from error
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


def _reason(error: Exception) -> str:
    """Return the system's message for an error, without what Python adds."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


async def _measure(target: _Target, lasts_s: float) -> Measured:
    ends_s = time.monotonic() + lasts_s
    found = Measured()
    while time.monotonic() < ends_s and not found.refused:
        until_s = min(ends_s, time.monotonic() + ROUND_S)
        connections = [_keep(target, until_s, found) for _ in range(CONNECTIONS)]
        found.rounds.append(await asyncio.gather(*connections))
    return found


async def _keep(target: _Target, ends_s: float, found: Measured) -> list[float]:
    """Send requests on one connection until its round is over; return the response times."""
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
        await _ask(reader, writer, target.request, took, ends_s, found)
    except (OSError, EOFError, asyncio.LimitOverrunError, TimeoutError) as error:
        found.failures[_reason(error) or "timed out"] += 1
        # A server that rejects requests at once does not get more of them than one that answers.
        await asyncio.sleep(1 / RATE_HZ)
    finally:
        if writer is not None:
            writer.close()
    return took


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: bytes,
    took: list[float],
    ends_s: float,
    found: Measured,
) -> None:
    """Send requests at RATE_HZ; a late response delays the next request to the next tick.

    Each request is sent at a random moment in its tick: regular pauses of a machine, as with a CPU quota, would
    otherwise always hit the same connections.
    """
    tick_s = time.monotonic()
    while True:
        due_s = tick_s + random.random() / RATE_HZ  # noqa: S311 - a moment, not a secret
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        asked_s = time.monotonic()
        if asked_s >= ends_s or found.refused:
            return
        writer.write(request)
        async with asyncio.timeout(_TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        if (status := _status(head)) in _REFUSED:
            found.refused = status
            return
        took.append(time.monotonic() - asked_s)
        if b"connection: close" in head.lower():
            return
        tick_s += (int((time.monotonic() - tick_s) * RATE_HZ) + 1) / RATE_HZ


def _status(head: bytes) -> int:
    """Return a response's status; 0 for none."""
    words = head.split(maxsplit=2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def usual_s(rounds: Iterable[Round]) -> float:
    """Return the usual round trip: the tenth percentile of the response times."""
    times = sorted(took for each in rounds for answers in each for took in answers)
    return times[len(times) // 10]


def split(of: Round) -> Split:
    """Split the connections in a round at the largest step between their mean times."""
    connections = sorted((answers for answers in of if answers), key=mean)
    steps = [
        ((mean(after) + LATE_S) / (mean(before) + LATE_S), at)
        for at, (before, after) in enumerate(pairwise(connections), start=1)
    ]
    step, at = max(steps, default=(1.0, 0))
    first_late = at if step >= _STEP else len(connections)
    return Split(
        late=tuple(chain.from_iterable(connections[first_late:])),
        prompt=tuple(chain.from_iterable(connections[:first_late])),
        late_connections=len(connections) - first_late,
    )


def report(found: Measured) -> Iterator[str]:
    """Yield the result of the rounds as lines of plain text; indented lines belong to the unindented line above."""
    rounds = found.rounds
    everything = [took for each in rounds for answers in each for took in answers]
    if found.refused:
        yield (
            f"Stopped after {count(len(everything), 'answer')}: the server answered {found.refused}. It limits "
            "requests (limit_req, limit_conn) or is overloaded; such answers show nothing about its workers."
        )
        yield "  Next: use a URL that is not limited; or run ./lab watch on the server, as root."
        return
    usual = usual_s(rounds)
    yield (
        f"{count(len(everything), 'answer')} on {CONNECTIONS} connections at a time, renewed every {ROUND_S:g} s; "
        f"usual round trip {seconds(usual)}."
    )
    for failure, number in found.failures.items():
        yield f"{count(number, 'connection')} failed: {failure}."
    splits = [split(each) for each in rounds if sum(map(len, each)) >= _LEAST_ANSWERS]
    parted = [each for each in splits if each.late_connections]
    if not splits:
        yield "Too few answers to compare connections."
    elif len(parted) >= _ROUNDS_SHARE * len(splits):
        late = [took for each in parted for took in each.late]
        prompt = [took for each in parted for took in each.prompt]
        yield (
            f"Found: at least one worker or machine stalls: in {len(parted)} of {len(splits)} rounds "
            f"{count(sum(each.late_connections for each in parted), 'connection')} were late while others were not."
        )
        yield f"  late:   {_times(late)}"
        yield f"  prompt: {_times(prompt)}"
        yield "  Next: run ./lab watch on each machine behind this address, as root; it names the worker and why."
    elif sum(took >= usual + LATE_S for took in everything) >= _ALL_LATE * len(everything):
        yield "Possible: all workers stall, or the machine or the path is slow, since all connections are equally late."
        yield f"  all:    {_times(everything)}"
    else:
        later = (
            f"some connections were late in only {len(parted)} of {len(splits)} rounds"
            if parted
            else ("no connection is later than the others")
        )
        yield f"No problem found: {later}. {_times(everything)}"
    yield (
        "Not visible from outside: which worker it is, what it does, a worker without any of these connections, "
        f"stalls shorter than {seconds(LATE_S)}."
    )


def _times(times: Sequence[float]) -> str:
    found = distribution(times)
    if found is None:
        return "no answer"
    return f"p50 {seconds(found.median)}, p99 {seconds(found.p99)}, longest {seconds(found.maximum)}"
