"""Scripts for trials on the user's nginx, and what they count. All requests take a route through the configuration."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tuneproof.conf.tree import Block
from tuneproof.conf.values import time_ms, whole_number
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step, Streams
from tuneproof.lab.protocol.standin import EVENT, Streaming
from tuneproof.yours.refusers import LIMITED, LIMITING, limits
from tuneproof.yours.routes import AGENT, Probe, Route

Script = Callable[[Rig], Figures]

MIB: Final = 1 << 20
CLIENTS: Final = 4
_REQUESTS: Final = 8
ASKED: Final = CLIENTS * _REQUESTS
"""The number of requests in a trial, from all clients together."""
_BULK_CONNECTIONS: Final = 8
_BULK_BYTES: Final = 48 * MIB
_TURNS_S: Final = 1.0
ANSWERED_WITHIN_S: Final = 10.0
# Responses exceed nginx's buffers by this much, so that the socket buffers of a client that hardly reads are also full.
_MORE_THAN_HELD_BYTES: Final = MIB
_HELD_AT_ONCE_BYTES: Final = 64 * MIB
# The first readers of a worker cost extra (touched pages of its tables), which is little per reader if there are many.
_MOST_READERS: Final = 64
_RECEIVE_BUFFER_BYTES: Final = 4096
_SLOW_BYTES_PER_S: Final = 20
_STEADY_BYTES: Final = 1 << 18
_WARM_UPS: Final = 8
_OK: Final = 200
EVENTS: Final = 20
"""The number of events in a stream."""
ARRIVED_OVER: Final[Mapping[str, str]] = {"arrived_over_http1": "HTTP/1.1", "arrived_over_http2": "HTTP/2"}
"""The figures of a stream, each with its protocol; the second exists only if the server speaks HTTP/2."""
_STREAM_HEADERS: Final = {"User-Agent": AGENT, "X-Tuneproof-Events": str(EVENTS)}
STATUSES: Final = (-1, 0, 200, 301, 302, 304, 400, 401, 403, 404, 405, 413, 429, 499, 500, 502, 503, 504)
"""The possible statuses of a request that no stand-in answers."""


def requests(route: Route) -> Script:
    """Return the trial of some requests on keepalive connections.

    If requests are limited per client, or client connections end too soon, each request comes from a different client,
    on a separate connection. The trial counts ``asked``, ``answered`` by a stand-in, their
    ``upstream_connects``, responses ``from_cache`` that a stand-in gave earlier, and ``status_<number>`` of the others
    (0 for no response, -1 for any other number).
    """
    block = route.proxied.target.block
    limiting = [one for one in limits(block) if one.name in LIMITING]
    connections = ASKED if limiting or not _keeps_clients(block) else CLIENTS
    each = ASKED // connections

    def script(rig: Rig) -> Figures:
        # Connections from an earlier trial must be gone.
        rig.fresh_workers()
        flow = flow_to(route, connections=connections, at_once=CLIENTS, requests=each, timeout_s=ANSWERED_WITHIN_S)
        answers = list(answers_of(rig.flow(flow, port=route.port)))
        numbers = [answer.numbered for answer in answers if answer.numbered]
        # A client sends no further requests after its connection fails.
        unasked = ASKED - len(answers)
        others = [answer.status for answer in answers if not answer.numbered] + [0] * unasked
        refused = sum(status in LIMITED for status in others)
        by = ", ".join(f"{one.name} ({one.file}:{one.line})" for one in limiting)
        rig.must(
            not (refused and by),
            f"{refused} of {ASKED} requests were refused by {by}, although each has a different address",
        )
        return {
            "asked": ASKED,
            "answered": len(numbers),
            "upstream_connects": sum(number.endswith(".1") for number in set(numbers)),
            "from_cache": len(numbers) - len(set(numbers)),
            **_by_status(others),
        }

    return script


def slow_readers(route: Route, held_bytes: int) -> Script:
    """Return the trial of slow readers, until the workers' memory stops growing.

    It counts ``readers``, and ``grown_bytes`` of the workers' memory per reader.
    """
    readers = max(1, min(_MOST_READERS, _HELD_AT_ONCE_BYTES // max(held_bytes, 1)))
    size = held_bytes + _MORE_THAN_HELD_BYTES
    is_cached = route.proxied.target.block.in_use(f"{route.proxied.target.kind}_cache") is not None

    def script(rig: Rig) -> Figures:
        # Fresh workers, except for what a first request leaves in each.
        rig.fresh_workers()
        warmed = rig.flow(flow_to(route, connections=_WARM_UPS, timeout_s=ANSWERED_WITHIN_S), port=route.port)
        # A rejected client does not read slowly: low memory would not show small buffers.
        refused = sorted({answer.status for answer in answers_of(warmed) if not answer.numbered})
        rig.must(not refused, f"requests are answered with {', '.join(map(str, refused))}, not by a stand-in")
        before = _held_bytes(rig)
        flow = flow_to(
            route,
            connections=readers,
            body_bytes=size,
            read_bytes_per_s=_SLOW_BYTES_PER_S,
            receive_buffer_bytes=_RECEIVE_BUFFER_BYTES,
            then=(Step.STAY,),
        )
        with rig.standing(flow, port=route.port) as results:
            peak = _peak(rig, before)
        # Because of a limit, or of a short response in a cache, some readers may hold nothing.
        numbers = [answer.numbered for answer in answers_of(results[0]) if answer.numbered]
        own = len(set(numbers)) if is_cached else len(numbers)
        rig.must(own == readers, f"only {own} of {readers} slow readers got a response from a stand-in")
        return {"readers": readers, "grown_bytes": max(0, peak - before) / readers}

    return script


def bulk(route: Route) -> Script:
    """Return the trial of large responses, with the bytes that loop iterations read.

    It counts ``turns``, and ``turn_bytes``, the largest of the workers' values: half of a worker's bytes were read in
    iterations of at least this size.
    """

    def script(rig: Rig) -> Figures:
        flow = flow_to(route, connections=_BULK_CONNECTIONS, body_bytes=_BULK_BYTES, timeout_s=30.0)
        turns = rig.during(flow, lambda: rig.turns(_TURNS_S), port=route.port)[0]
        found = [worker.turn_bytes_p50 for worker in turns.workers if worker.turn_bytes_p50]
        rig.must(bool(found), "no worker has read anything while its loop iterations were recorded")
        return {"turn_bytes": max(found), "turns": sum(worker.turns for worker in turns.workers)}

    return script


def stream(route: Route) -> Script:
    """Return the trial of an event stream that stays open, over each protocol that browsers speak to the server.

    It counts streams ``asked`` for, those ``answered`` by a stand-in, how many of their :data:`EVENTS` events have
    arrived once all are written and no more come (:data:`ARRIVED_OVER`; ``arrived_events`` is the lowest
    number), and ``status_<number>`` as for requests.
    """
    asked = [
        Streams(
            path=route.path,
            host=route.host,
            # Browsers send this header; the lab's client does not decompress over HTTP/2.
            headers={**_STREAM_HEADERS, **dict(route.headers), **({} if http2 else {"Accept-Encoding": "gzip"})},
            tls=route.tls,
            http2=http2,
            proxy_protocol=route.proxy_protocol,
        )
        for http2 in ((False, True) if route.http2 else (False,))
    ]

    def script(rig: Rig) -> Figures:
        rig.leave_streams()
        before = _written(rig)

        def are_written() -> bool:
            streams = _streaming(rig)
            if sum(one.written for one in streams) - before == len(asked):
                return not any(one.unacknowledged_bytes for one in streams)
            return any(one.end or one.status not in {0, _OK} for one in rig.arrived())

        rig.open_streams(*asked, port=route.port)
        rig.wait_until(are_written, "did not forward the stream")
        rig.steady(lambda: sum(one.body_bytes for one in rig.arrived()))
        arrived, answered = rig.arrived(), _written(rig) - before
        rig.leave_streams()
        others = [] if answered == len(asked) else [one.status for one in arrived]
        events = [one.body_bytes // len(EVENT) for one in arrived]
        return {
            "asked": len(asked),
            "answered": answered,
            "arrived_events": min(events),
            **dict(zip(ARRIVED_OVER, events, strict=False)),
            **_by_status(others),
        }

    return script


def _streaming(rig: Rig) -> list[Streaming]:
    return [rig.standin(name).streaming() for name in rig.backends()]


def _written(rig: Rig) -> int:
    return sum(one.written for one in _streaming(rig))


def _by_status(statuses: Iterable[int]) -> Figures:
    counted = Counter(status if status in STATUSES else -1 for status in statuses)
    return {f"status_{status}": counted[status] for status in STATUSES}


def burst(port: int, listens_on: int, connects: int) -> Script:
    """Return the trial of a burst of connects while all workers are stopped.

    It counts ``queued``: how many of the connects wait in the socket's queue.
    """

    def script(rig: Rig) -> Figures:
        queued = rig.queue_behind_stopped_workers(connects, port=port, listens_on=listens_on)
        return {"connects": connects, "queued": queued}

    return script


def fresh_workers(rig: Rig) -> Figures:
    """Count ``worker_bytes``, the private memory of a worker that has not served a request yet."""
    rig.fresh_workers()
    workers = rig.workers()
    return {"workers": len(workers), "worker_bytes": _held_bytes(rig) / len(workers)}


def flow_to(probe: Probe, *, body_bytes: int = 0, then: tuple[Step, ...] = (), **fields: float) -> Flow:
    """Return a flow of requests to a place; ``body_bytes`` is the size of the stand-in's responses, if given."""
    headers = {"Host": probe.host, "User-Agent": AGENT, **dict(probe.headers)}
    if body_bytes:
        headers["X-Tuneproof-Bytes"] = str(body_bytes)
    place = {"path": probe.path, "tls": probe.tls, "proxy_protocol": probe.proxy_protocol}
    return Flow(headers=headers, then=then, **place, **fields)  # type: ignore[arg-type]  # whole numbers where asked


def _keeps_clients(block: Block) -> bool:
    """Return whether a client's connection lasts for all of its requests."""
    timeout, most = block.setting("keepalive_timeout"), block.setting("keepalive_requests")
    lasts = timeout is None or time_ms(timeout.value) != 0
    return lasts and (most is None or (whole_number(most.value) or 0) >= _REQUESTS)


def _held_bytes(rig: Rig) -> int:
    # Pages of files are left out, since those of libraries do not depend on readers.
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def _peak(rig: Rig, before: int) -> int:
    """Return the workers' largest memory, once it is stable while they are idle."""
    peak = before

    def grown() -> int:
        nonlocal peak
        peak = max(peak, _held_bytes(rig))
        return peak // _STEADY_BYTES

    rig.steady(grown)
    return peak
