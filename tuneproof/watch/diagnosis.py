"""What a recording comes to, in explain's words: found, rare, ruled out; and what to do."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.signs.event_loops import NEXT, RULED_OUT, signs
from tuneproof.explain.parse.event_loop_summary import WorkerLoop, longest, told_of
from tuneproof.wording import format_number, seconds, share, size

_PLACES_SHOWN: Final = 3
_WORDS: Final = {CauseVerdict.FOUND: "Found", CauseVerdict.RARE: "Rare"}


def diagnosis(loops: Sequence[WorkerLoop], where: Callable[[str], str] = lambda _: "") -> Iterator[str]:
    """Yield the diagnosis as lines of plain text; those that are indented belong to the one before.

    where: Says what of a configuration a target of calls fits; empty for nothing.
    """
    said = sorted(signs(loops), key=lambda sign: sign.verdict is not CauseVerdict.FOUND)
    if not any(loop.iterations or loop.long for loop in loops):
        yield "No iteration of an event loop was seen: nginx had nothing to do."
        return
    if not said:
        yield "No problem found in the event loops."
    for sign in said:
        yield f"{_WORDS[sign.verdict]}: {sign.text}"
        for loop in loops:
            if loop.worker == sign.worker:
                yield from (f"  at {seconds(each.at_s)}: {told_of(each)}" for each in longest(loop.of(sign.reason)))
                if sign.is_stall:
                    fits = dict.fromkeys(found for call in loop.calls if (found := where(call.on)))
                    yield from (f"  Where: {each}" for each in [*fits][:_PLACES_SHOWN])
        yield f"  Next: {NEXT[sign.reason]}"
    if out := [text for reason, text in RULED_OUT.items() if all(sign.reason is not reason for sign in said)]:
        yield f"Ruled out: {', '.join(out)}."


def table(loops: Sequence[WorkerLoop]) -> Iterator[str]:
    """Yield a line of figures for each worker."""
    for loop in loops:
        yield f"worker {loop.worker} ({loop.name}): {figures_of(loop)}"


def figures_of(loop: WorkerLoop) -> str:
    """Return a worker's figures in one line."""
    if not loop.iterations:
        return f"in one iteration for {seconds(loop.longest_s)}" if loop.long else "idle"
    rate = format_number(loop.iterations / loop.watched_s)
    said = f"{rate} iterations/s, {share(round(loop.busy_share, 3))} busy"
    if loop.p50_s is not None and loop.p99_s is not None:
        said += f", p50 {seconds(loop.p50_s)}, p99 {seconds(loop.p99_s)}, longest {seconds(loop.longest_s)}"
    if loop.read_per_iteration_bytes is not None and loop.written_per_iteration_bytes is not None:
        # Where calls are timed in one of several iterations, these are estimates.
        said += f", read {size(loop.read_per_iteration_bytes)}, wrote {size(loop.written_per_iteration_bytes)} each"
    return said
