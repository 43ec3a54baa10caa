"""The diagnosis of a recording, in explain's words: what is found, rare or ruled out, and what to do."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.signs.event_loops import NEXT, RULED_OUT, LoopSign, signs
from tuneproof.explain.diagnosis.thresholds import ENOUGH_REQUESTS
from tuneproof.explain.parse.event_loop_summary import Reason, WorkerLoop, describe, longest
from tuneproof.wording import count, format_number, seconds, share, size

WORKERS_SHOWN: Final = 16
"""The maximum number of workers to list: those with the longest iterations."""
_WORKERS_EXPLAINED: Final = 3
_PIDS_SHOWN: Final = 8
_PLACES_SHOWN: Final = 3
_WORDS: Final = {CauseVerdict.FOUND: "Found", CauseVerdict.RARE: "Rare"}


def diagnosis(loops: Sequence[WorkerLoop], where: Callable[[str], str] = lambda _: "") -> Iterator[str]:
    """Yield the diagnosis as lines of plain text; indented lines belong to the last line that is not indented.

    where: Returns, as text, the parts of a configuration that match the target of calls; empty if none does.
    """
    iterations = sum(loop.iterations for loop in loops)
    if not any(loop.iterations or loop.long for loop in loops):
        yield "No event loop made an iteration: nginx had nothing to do."
        return
    by_kind: dict[tuple[CauseVerdict, Reason], list[LoopSign]] = defaultdict(list)
    for sign in signs(loops):
        by_kind[sign.verdict, sign.reason].append(sign)
    if not by_kind:
        rarely = f", in only {count(iterations, 'iteration')}" if iterations < ENOUGH_REQUESTS else ""
        yield f"No problem found in the event loops{rarely}."
    of = {loop.worker: loop for loop in loops}
    for (verdict, reason), found in sorted(by_kind.items(), key=lambda item: item[0][0] is not CauseVerdict.FOUND):
        for sign in found[:_WORKERS_EXPLAINED]:
            yield f"{_WORDS[verdict]}: {sign.text}"
            yield from _details(of[sign.worker], sign, where)
        if more := [sign.worker for sign in found[_WORKERS_EXPLAINED:]]:
            yield f"  The same: {count(len(more), 'more worker')}: {some(more)}"
        yield f"  Next: {NEXT[reason]}"
    out = [text for reason, text in RULED_OUT.items() if all(reason is not each for _, each in by_kind)]
    if out and iterations >= ENOUGH_REQUESTS:
        yield f"Ruled out: {', '.join(out)}."


def _details(loop: WorkerLoop, sign: LoopSign, where: Callable[[str], str]) -> Iterator[str]:
    yield from (f"  at {seconds(each.at_s)}: {describe(each)}" for each in longest(loop.of(sign.reason)))
    if sign.is_stall:
        fits = dict.fromkeys(found for call in loop.calls if (found := where(call.on)))
        yield from (f"  Where: {each}" for each in [*fits][:_PLACES_SHOWN])


def some(pids: Sequence[int]) -> str:
    """Return process ids in words; only the first ones if there are many."""
    shown = ", ".join(map(str, pids[:_PIDS_SHOWN]))
    return f"{shown}, ..." if len(pids) > _PIDS_SHOWN else shown


def table(loops: Sequence[WorkerLoop]) -> Iterator[str]:
    """Yield one line for each busy worker, or the 16 with the longest iterations, then the numbers of the others."""
    busy = [loop for loop in loops if loop.iterations or loop.long]
    shown = sorted(busy, key=lambda loop: -loop.longest_s)[:WORKERS_SHOWN]
    for loop in sorted(shown, key=loops.index):
        yield f"worker {loop.worker} ({loop.name}): {figures_of(loop)}"
    if less := len(busy) - len(shown):
        yield f"{count(less, 'more worker')}: no iteration longer than {seconds(min(each.longest_s for each in shown))}"
    if idle := len(loops) - len(busy):
        yield f"{count(idle, 'worker')} idle"


def figures_of(loop: WorkerLoop) -> str:
    """Return a worker's figures in one line."""
    if not loop.iterations:
        return f"in one iteration for {seconds(loop.longest_s)}" if loop.long else "idle"
    rate = format_number(loop.iterations / loop.watched_s)
    text = f"{rate} iterations/s, {share(round(loop.busy_share, 3))} busy"
    if loop.p50_s is not None and loop.p99_s is not None:
        text += f", p50 {seconds(loop.p50_s)}, p99 {seconds(loop.p99_s)}, longest {seconds(loop.longest_s)}"
    if loop.read_per_iteration_bytes is not None and loop.written_per_iteration_bytes is not None:
        # These are estimates if calls were timed only in some seconds.
        text += f", read {size(loop.read_per_iteration_bytes)}, wrote {size(loop.written_per_iteration_bytes)} each"
    return text
