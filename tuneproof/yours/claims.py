"""The claims about the user's own nginx, and the changes that some of them test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.counted import CountedObservation
from tuneproof.lab.protocol.standin import EVENT
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.claims import Claim
from tuneproof.report.results.cells import Fine, Remedy
from tuneproof.wording import size
from tuneproof.yours.refusers import refusers
from tuneproof.yours.routes import Route
from tuneproof.yours.trials import ARRIVED_OVER, ASKED, CLIENTS, EVENTS, MIB

OwnClaim = Claim[CountedObservation]
Block = Mapping[str, CountedObservation]

SOURCE: Final = "your configuration"
_BUSY: Final = "_bulk_stalls_the_loop"
_CONNECTIONS: Final = f"upstream connections for {ASKED} requests, {CLIENTS} at a time"
_USUALLY: Final = 0.5
_TIMES: Final = 2.0
_LARGER_QUEUE: Final = 1.5
_PAGE_BYTES: Final = 4096
# Claims about bounds in the catalogue have the same margin.
_BOUND_MARGIN: Final = 1.02
# nginx's memory for a connection and its request, without the response's buffers; and OpenSSL's memory, including 16
# KiB records in both directions and ssl_buffer_size.
_BESIDES_BYTES: Final = 64 << 10
_OF_TLS_BYTES: Final = 128 << 10


def connects(name: str, route: Route, arm: str) -> OwnClaim:
    """Return the claim that most requests on a route cost a new connection to the upstream."""
    return _claim(
        f"{name}_connects_every_time",
        f"Most requests to {route.shown} cost a new connection to the upstream",
        (arm,),
        effect=lambda block: _connecting_share(block[arm], route),
        effect_name="trials in which more than half of the responses from the upstream took a new connection",
        threshold=_USUALLY,
        why="nginx either opens a connection for each request or reuses connections: a majority of trials shows which",
        route=route,
        scale=Scale.SHARE,
        moderator=lambda arms: _unanswered(arms[arm], route),
        fine=Fine(what="upstream connections are reused", verdict=Verdict.REFUTED),
    )


def keeps_connections(name: str, route: Route, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that the patch saves connections to the upstream."""
    return _claim(
        f"{name}_patch_keeps_connections",
        f"With the patch, requests to {route.shown} share connections to the upstream",
        arms,
        effect=_saved(arms, "upstream_connects", lambda seen: _answered(seen, route)),
        effect_name="connections to the upstream, yours ÷ patched",
        threshold=_TIMES,
        why="a patch that saves less than half of the connections is not worth a changed configuration",
        route=route,
        figure="upstream_connects",
        remedy=replace(change, gains=_CONNECTIONS, place=route.shown),
    )


def holds_what_is_computed(name: str, route: Route, arm: str, held_bytes: int) -> OwnClaim:
    """Return the claim that a slow reader holds at most the sum of the directives' sizes."""
    besides = _BESIDES_BYTES + (_OF_TLS_BYTES if route.tls else 0)
    most = held_bytes * _BOUND_MARGIN + besides
    return _claim(
        f"{name}_slow_reader_is_bounded",
        f"One slow reader of {route.shown} makes a worker hold at most {size(held_bytes)} of buffers",
        (arm,),
        effect=lambda block: most / max(block[arm]["grown_bytes"], _PAGE_BYTES),
        effect_name=f"({size(held_bytes)} x {_BOUND_MARGIN} + {size(besides)}) ÷ growth of workers' memory per reader",
        threshold=1.0,
        why="the sum of the directives' sizes, plus what nginx itself keeps, is the most that a reader may cost",
        route=route,
    )


def holds_less(name: str, route: Route, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that the patch makes slow readers hold less."""
    return _claim(
        f"{name}_patch_bounds_slow_readers",
        f"With the patch, a slow reader of {route.shown} holds less memory",
        arms,
        effect=_saved(arms, "grown_bytes"),
        effect_name="memory for each slow reader, yours ÷ patched",
        threshold=_TIMES,
        why="if each slow reader takes half the memory, a machine survives twice as many",
        route=route,
        figure="grown_bytes",
        remedy=replace(change, gains="memory per slow client", place=route.shown),
    )


def keeps_loop_busy(name: str, route: Route, arm: str) -> OwnClaim:
    """Return the claim that large responses make loop iterations long."""
    return _claim(
        f"{name}{_BUSY}",
        f"Large responses of {route.shown} keep an event loop busy: one iteration reads more than 1 MiB while "
        "later requests wait",
        (arm,),
        effect=lambda block: _turn_bytes(block[arm], route) / MIB,
        effect_name="bytes that a loop iteration reads ÷ 1 MiB",
        threshold=1.0,
        why="reading 1 MiB at once takes a worker milliseconds, in which new events wait",
        fine=Fine(what="large responses leave the event loop to others", verdict=Verdict.REFUTED),
        route=route,
    )


def shortens_turns(name: str, route: Route, arms: tuple[str, str], change: Remedy, *, by: str) -> OwnClaim:
    """Return the claim that small receive buffers shorten loop iterations; ``by``: the setting in the claim's name."""
    return _claim(
        f"{name}_{by}_restores_the_loop",
        f"With small receive buffers, a loop iteration reads less of the large responses of {route.shown}",
        arms,
        effect=_saved(arms, "turn_bytes", lambda seen: _turn_bytes(seen, route)),
        effect_name="bytes that a loop iteration reads, yours ÷ patched",
        threshold=_TIMES,
        why="if an iteration reads half as much, other clients wait half as long",
        route=route,
        figure="turn_bytes",
        remedy=replace(change, gains="bytes that a loop iteration reads", place=route.shown, only_if=f"{name}{_BUSY}"),
    )


def streams(name: str, route: Route, arm: str) -> OwnClaim:
    """Return the claim that events of a stream arrive as they are sent."""
    return _claim(
        f"{name}_delivers_events",
        f"Each event of a stream through {route.shown} arrives as it is sent",
        (arm,),
        effect=lambda block: Tally.yes(when=_arrived_events(block[arm], route) == EVENTS),
        effect_name=f"trials in which all {EVENTS} events of {len(EVENT)} bytes arrive while the stream is open",
        threshold=_USUALLY,
        why="nginx either passes events on or waits for more of them: a majority of trials shows which",
        route=route,
        scale=Scale.SHARE,
        moderator=lambda arms: _held(arms[arm]),
        fine=Fine(what="events of a stream arrive as they are sent", verdict=Verdict.HOLDS),
    )


def delivers_events(name: str, route: Route, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that, with the patch, more events arrive as they are sent."""
    before, after = arms
    return _claim(
        f"{name}_patch_delivers_events",
        f"With the patch, more of {EVENTS} events of a stream through {route.shown} arrive as they are sent",
        arms,
        effect=lambda block: (
            max(_arrived_events(block[after], route), 1) / max(_arrived_events(block[before], route), 1)
        ),
        effect_name="events that arrive while the stream is open, patched ÷ yours",
        threshold=_TIMES,
        why="if half of the events wait for later ones, a reader sees the stream stop and go",
        route=route,
        figure="arrived_events",
        remedy=replace(change, gains=f"events that arrive as they are sent, of {EVENTS}", place=route.shown),
    )


def takes_at_start(arm: str, connections: int, size_bytes: int) -> OwnClaim:
    """Return the claim that worker_connections cost memory before any client connects."""
    return _claim(
        "worker_connections_cost_memory_at_start",
        f"worker_connections {connections} take {size(size_bytes)} of every worker's memory before any client connects",
        (arm,),
        effect=lambda block: block[arm]["worker_bytes"] / size_bytes,
        effect_name="private memory of a fresh worker ÷ that size",
        threshold=1 / _BOUND_MARGIN,
        why="sizes of structures are exact; bounds in the catalogue have a tolerance of 2 %, too",
    )


def queues_more(port: int, connects: int, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that a larger backlog queues more of a burst than the configured one."""
    before, after = arms
    return _claim(
        f"port_{port}_patch_queues_bursts",
        f"With the patch, the queue of port {port} takes more of a burst of connects",
        arms,
        effect=lambda block: block[after]["queued"] / block[before]["queued"],
        effect_name="connects that are queued, patched ÷ yours",
        threshold=_LARGER_QUEUE,
        why="a longer burst fits only if the queue has room for at least half as many connects again",
        figure="queued",
        remedy=replace(change, gains=f"of {connects} simultaneous connects, queued"),
    )


def _claim(name: str, sentence: str, arms: tuple[str, ...], *, route: Route | None = None, **rest: Any) -> OwnClaim:
    """Return a claim with the common settings: no expected verdict, and a ratio unless ``rest`` has another scale."""
    said = route.proxied.target.statement if route is not None else None
    source = SOURCE if said is None else f"{SOURCE}, {said.file}:{said.line}"
    rest.setdefault("scale", Scale.RATIO)
    return OwnClaim(name=name, sentence=sentence, arms=arms, source=source, expected=None, **rest)


def _saved(
    arms: tuple[str, str], figure: str, needs: Callable[[CountedObservation], float] = lambda _seen: 1.0
) -> Callable[[Block], float]:
    """Return an effect, the first variant's figure ÷ the second's; ``needs`` rejects a meaningless trial."""
    before, after = arms

    def effect(block: Block) -> float:
        for arm in arms:
            needs(block[arm])
        return max(block[before][figure], 1.0) / max(block[after][figure], 1.0)

    return effect


def _connecting_share(seen: CountedObservation, route: Route) -> Tally:
    answered = _answered(seen, route)
    # Requests in one trial are not independent, and count as one unit.
    return Tally.yes(when=seen["upstream_connects"] > answered / 2)


def _answered(seen: CountedObservation, route: Route) -> float:
    """Return how many responses came from a stand-in, without those from the cache.

    Raises ValueError: none did (the message names directives that may have rejected the requests), or some requests
        got no response.
    """
    if unanswered := seen.figures.get("status_0"):
        raise ValueError(f"{unanswered:g} of {seen['asked']:g} requests to {route.shown} got no response at all")
    fresh = seen["answered"] - seen["from_cache"]
    if fresh < 1:
        raise ValueError(
            f"no request to {route.shown} reached a stand-in: {_refused(seen.figures, route) or 'no answer'}"
        )
    return fresh


def _arrived_events(seen: CountedObservation, route: Route) -> float:
    if seen["answered"] < seen["asked"]:
        raise ValueError(f"no stream through {route.shown} came from a stand-in: {_refused(seen.figures, route)}")
    return seen["arrived_events"]


def _held(metrics: Mapping[str, Metric]) -> str:
    arrived = {protocol: metrics.get(name) for name, protocol in ARRIVED_OVER.items()}
    shares = [f"{events:g} of {EVENTS} over {protocol}" for protocol, events in arrived.items() if events is not None]
    is_whole = all(events in {None, EVENTS} for events in arrived.values())
    return "" if is_whole else f"events that arrive: {', '.join(shares)}"


def _turn_bytes(seen: CountedObservation, route: Route) -> float:
    if not seen["turn_bytes"]:
        raise ValueError(f"nothing was read for {route.shown}: no large response came from a stand-in")
    return seen["turn_bytes"]


def _unanswered(metrics: Mapping[str, Metric], route: Route) -> str:
    asked, answered = metrics.get("asked") or 0, metrics.get("answered") or 0
    if answered >= asked:
        return ""
    return f"{asked - answered:g} of {asked:g} requests were refused: {_refused(metrics, route)}"


def _refused(figures: Mapping[str, Metric], route: Route) -> str:
    """Return, in words, how many requests were rejected, and which directives may have rejected them."""
    refusals = []
    for name, number in figures.items():
        if name.startswith("status_") and number:
            status = int(name.removeprefix("status_"))
            behind = [f"{said.name} ({said.file}:{said.line})" for said in refusers(status, route.proxied.target.block)]
            by = f", perhaps by {' or '.join(behind)}" if behind else ""
            refusals.append(f"{number:g} times {status or 'no answer'}{by}")
    return "; ".join(refusals)


def unique(names: Sequence[str]) -> list[str]:
    """Return unique names, with a number added to duplicates."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found
