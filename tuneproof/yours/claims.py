"""The claims on the user's own nginx, each with the change that it is about."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.counted import CountedObservation
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.tallies import Share, Tally
from tuneproof.proof.scenario.claims import Claim
from tuneproof.report.results.cells import Remedy
from tuneproof.wording import size
from tuneproof.yours.refusers import refusers
from tuneproof.yours.trials import MIB
from tuneproof.yours.ways import Way

OwnClaim = Claim[CountedObservation]
Block = Mapping[str, CountedObservation]

SOURCE: Final = "your configuration"
_USUALLY: Final = 0.5
_TIMES: Final = 2.0
_LARGER_QUEUE: Final = 1.5
_PAGE_BYTES: Final = 4096
# As for the claim of the catalogue that measures the bound.
_BOUND_MARGIN: Final = 1.02
# One more or less of nginx's own queue.
_ONE_CONNECT: Final = 1 / 511
# What nginx keeps of a connection and its request besides the buffers of the answer; and with TLS what OpenSSL keeps,
# its records of 16 KiB in both directions and ssl_buffer_size among it.
_BESIDES_BYTES: Final = 64 << 10
_OF_TLS_BYTES: Final = 128 << 10
# Turns are counted in classes an eighth apart.
_TURN_CLASS: Final = 0.125


def connects(name: str, way: Way, arm: str) -> OwnClaim:
    """Return the claim that requests by a way cost a connection to the upstream each."""
    return OwnClaim(
        name=f"{name}_connects_every_time",
        sentence=f"Every request to {way.shown} costs a new connection to the upstream",
        source=_where(way),
        arms=(arm,),
        effect=lambda block: _connecting_share(block[arm], way),
        effect_name="trials in which more than half of the answers from the upstream took a new connection",
        scale=Scale.SHARE,
        threshold=_USUALLY,
        expected=None,
        moderator=lambda arms: _unanswered(arms[arm], way),
    )


def keeps_connections(name: str, way: Way, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that the patch saves connections to the upstream."""
    return _saves(
        f"{name}_patch_keeps_connections",
        f"With the patch, requests to {way.shown} share connections to the upstream",
        way,
        arms,
        figure="upstream_connects",
        what="connections to the upstream",
        needs=lambda seen: _answered(seen, way),
        change=change,
    )


def holds_what_is_computed(name: str, way: Way, arm: str, held_bytes: int) -> OwnClaim:
    """Return the claim that a slow reader holds what the directives add up to, and not more."""
    besides = _BESIDES_BYTES + (_OF_TLS_BYTES if way.tls else 0)
    most = held_bytes * _BOUND_MARGIN + besides
    return OwnClaim(
        name=f"{name}_slow_reader_is_bounded",
        sentence=f"One slow reader of {way.shown} makes a worker hold {size(held_bytes)} of buffers, and not more",
        source=_where(way),
        arms=(arm,),
        effect=lambda block: most / max(block[arm]["grown_bytes"], _PAGE_BYTES),
        effect_name=f"that x {_BOUND_MARGIN} and {size(besides)} ÷ growth of the workers' memory for each reader",
        scale=Scale.RATIO,
        threshold=1.0,
        resolution=_PAGE_BYTES / most,
        expected=None,
    )


def holds_less(name: str, way: Way, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that the patch makes slow readers hold less."""
    return _saves(
        f"{name}_patch_bounds_slow_readers",
        f"With the patch, a slow reader of {way.shown} holds less memory",
        way,
        arms,
        figure="grown_bytes",
        what="memory for each slow reader",
        needs=lambda seen: max(seen["grown_bytes"], _PAGE_BYTES),
        change=change,
    )


def keeps_loop_busy(name: str, way: Way, arm: str) -> OwnClaim:
    """Return the claim that large responses make turns of an event loop long."""
    return OwnClaim(
        name=f"{name}_bulk_stalls_the_loop",
        sentence=f"Large responses of {way.shown} keep an event loop busy: a turn reads more than 1 MiB before anyone "
        "else has theirs",
        source=_where(way),
        arms=(arm,),
        effect=lambda block: _turn_bytes(block[arm], way) / MIB,
        effect_name="bytes that a turn of the event loop reads ÷ 1 MiB",
        scale=Scale.RATIO,
        threshold=1.0,
        resolution=_TURN_CLASS,
        expected=None,
    )


def shortens_turns(name: str, way: Way, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that small receive buffers make turns short."""
    return _saves(
        f"{name}_small_rmem_restores_the_loop",
        f"With small receive buffers, a turn reads less of the large responses of {way.shown}",
        way,
        arms,
        figure="turn_bytes",
        what="bytes that a turn of the event loop reads",
        needs=lambda seen: _turn_bytes(seen, way),
        change=change,
        resolution=_TURN_CLASS,
    )


def takes_at_start(arm: str, connections: int, size_bytes: int) -> OwnClaim:
    """Return the claim that worker_connections cost memory before anybody connects."""
    return OwnClaim(
        name="worker_connections_cost_memory_at_start",
        sentence=f"worker_connections {connections} take {size(size_bytes)} of every worker before anybody connects",
        source=SOURCE,
        arms=(arm,),
        effect=lambda block: block[arm]["worker_bytes"] / size_bytes,
        effect_name="private memory of a fresh worker ÷ that",
        scale=Scale.RATIO,
        threshold=1 / _BOUND_MARGIN,
        resolution=_PAGE_BYTES / size_bytes,
        expected=None,
    )


def queues_more(port: int, arms: tuple[str, str], change: Remedy) -> OwnClaim:
    """Return the claim that a larger backlog takes a burst that the configured one does not."""
    before, after = arms
    return OwnClaim(
        name=f"port_{port}_patch_queues_bursts",
        sentence=f"With the patch, the queue of port {port} takes a burst of connects that it drops a part of now",
        source=SOURCE,
        arms=arms,
        effect=lambda block: block[after]["queued"] / block[before]["queued"],
        effect_name="connects that are queued, patched ÷ yours",
        scale=Scale.RATIO,
        threshold=_LARGER_QUEUE,
        resolution=_ONE_CONNECT,
        expected=None,
        figure="queued",
        remedy=change,
    )


def _saves(  # noqa: PLR0913 - keyword-only; each is one part of a claim
    name: str,
    sentence: str,
    way: Way,
    arms: tuple[str, str],
    *,
    figure: str,
    what: str,
    needs: Callable[[CountedObservation], float],
    change: Remedy,
    resolution: float = 1 / 32,
) -> OwnClaim:
    before, after = arms

    def effect(block: Block) -> float:
        for arm in arms:
            needs(block[arm])
        return max(block[before][figure], 1.0) / max(block[after][figure], 1.0)

    return OwnClaim(
        name=name,
        sentence=sentence,
        source=_where(way),
        arms=arms,
        effect=effect,
        effect_name=f"{what}, yours ÷ patched",
        scale=Scale.RATIO,
        threshold=_TIMES,
        resolution=resolution,
        expected=None,
        figure=figure,
        remedy=change,
    )


def _connecting_share(seen: CountedObservation, way: Way) -> Share:
    answered = _answered(seen, way)
    # Requests of one trial share connections, or do not, together: one unit.
    return Share(of=Tally.yes(when=seen["upstream_connects"] > answered / 2))


def _answered(seen: CountedObservation, way: Way) -> float:
    """Return how many answers a stand-in gave.

    Raises:
        ValueError: None, with who may have refused the requests; or some got no answer at all.
    """
    if unanswered := seen.figures.get("status_0"):
        raise ValueError(f"{unanswered:g} of {seen['asked']:g} requests to {way.shown} got no answer at all")
    fresh = seen["answered"] - seen["from_cache"]
    if fresh < 1:
        raise ValueError(f"no request to {way.shown} got to a stand-in: {_refused(seen.figures, way) or 'no answer'}")
    return fresh


def _turn_bytes(seen: CountedObservation, way: Way) -> float:
    if not seen["turn_bytes"]:
        raise ValueError(f"nothing was read for {way.shown}: no large response came from a stand-in")
    return seen["turn_bytes"]


def _unanswered(metrics: Mapping[str, Metric], way: Way) -> str:
    asked, answered = metrics.get("asked") or 0, metrics.get("answered") or 0
    if answered >= asked:
        return ""
    return f"{asked - answered:g} of {asked:g} requests were refused: {_refused(metrics, way)}"


def _refused(figures: Mapping[str, Metric], way: Way) -> str:
    """Return the other answers with the directives of the configuration that may be behind them."""
    told = []
    for name, number in figures.items():
        if name.startswith("status_") and number:
            status = int(name.removeprefix("status_"))
            behind = [f"{said.name} ({said.file}:{said.line})" for said in refusers(status, way.proxied.target.block)]
            by = f", perhaps by {' or '.join(behind)}" if behind else ""
            told.append(f"{number:g} times {status or 'no answer'}{by}")
    return "; ".join(told)


def _where(way: Way) -> str:
    said = way.proxied.target.statement
    return f"{SOURCE}, {said.file}:{said.line}"


def unique(names: Sequence[str]) -> list[str]:
    """Return names that differ, a number added where they did not."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found
