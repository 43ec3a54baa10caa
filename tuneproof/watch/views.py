"""Output while watching: a table that is updated, plain lines, or JSON lines."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond, to_line
from tuneproof.explain.parse.event_loop_summary import describe, longest, summarise
from tuneproof.watch.diagnosis import WORKERS_SHOWN, figures_of
from tuneproof.wording import count, format_number, one_line, seconds, share

_BARS: Final = " ▁▂▃▄▅▆▇█"
_FIRST_EXPONENT: Final = 12  # 4 us
_LAST_EXPONENT: Final = 30  # 1 s


class View(Protocol):
    """Shows seconds as they arrive."""

    def show(self, made: tuple[LoopSecond, ...]) -> None:
        """Show one second of all workers."""

    def close(self) -> None:
        """Close the view."""


class Lines:
    """One line per worker and second, as text or JSON."""

    def __init__(self, write: Callable[[str], None], *, json: bool) -> None:
        self._write = write
        self._is_json = json
        self._line = to_line if json else plain_line

    def show(self, made: tuple[LoopSecond, ...]) -> None:
        """Show one second of all workers; as text, only the workers with the longest iterations if there are many."""
        shown = made if self._is_json else _worst(made)
        for second in shown:
            self._write(self._line(second))
        if (less := len(made) - len(shown)) and made:
            self._write(f"{made[0].at_s:.0f} s, {_others(less)}")

    def close(self) -> None:
        """Do nothing: every line was written at once."""


class LiveTable:
    """One line for each worker that is shown, overwritten each second, with a histogram from 4 us to 1 s."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, made: tuple[LoopSecond, ...]) -> None:
        """Show one second of all workers, or of those with the longest iterations if there are many."""
        self._live.update(live_table(made), refresh=True)

    def close(self) -> None:
        """Remove the table: the diagnosis follows."""
        self._live.stop()


def plain_line(second: LoopSecond) -> str:
    """Return a second in words."""
    loop = summarise(LoopRecording(began="", seconds=(second,)))[0]
    detail = "".join(f"; longest: {describe(each)}" for each in longest(second.long)[:1])
    return f"{second.at_s:.0f} s, worker {second.worker}: {figures_of(loop)}{detail}"


def _worst(made: tuple[LoopSecond, ...]) -> list[LoopSecond]:
    """Return the seconds to show, in order; if there are many, those with the longest iterations, without idle ones."""
    if len(made) <= WORKERS_SHOWN:
        return [*made]
    longest_s = {loop.worker: loop.longest_s for loop in summarise(LoopRecording(began="", seconds=made))}
    busy = [second for second in made if longest_s[second.worker]]
    worst = sorted(busy, key=lambda second: -longest_s[second.worker])[:WORKERS_SHOWN]
    return sorted(worst, key=made.index)


def _others(number: int) -> str:
    return f"{count(number, 'more worker')}, none with a longer iteration"


def live_table(made: tuple[LoopSecond, ...]) -> Table:
    """Return the table of one second."""
    table = Table(box=None, pad_edge=False, expand=True)
    for heading in ("worker", "nginx", "iterations/s", "busy", "p50", "p99", "longest"):
        table.add_column(heading, justify="left" if heading == "nginx" else "right", no_wrap=True)
    table.add_column("4 us ... 1 s", no_wrap=True, min_width=_LAST_EXPONENT - _FIRST_EXPONENT + 1)
    # Parts that do not fit are left out, so the figures come first.
    table.add_column("longest one", no_wrap=True, overflow="ellipsis", ratio=1)
    for second in _worst(made):
        loop = summarise(LoopRecording(began="", seconds=(second,)))[0]
        worst = longest(second.long)
        table.add_row(
            str(second.worker),
            _plain(second.name),
            format_number(second.iterations / second.lasted_s) if second.lasted_s else "",
            share(round(loop.busy_share, 2)),
            "" if loop.p50_s is None else seconds(loop.p50_s),
            "" if loop.p99_s is None else seconds(loop.p99_s),
            seconds(loop.longest_s),
            bars(second.histogram),
            _plain(describe(worst[0])) if worst else "",
        )
    if less := len(made) - table.row_count:
        table.caption = _others(less)
    return table


def _plain(text: str) -> Text:
    """Return an untrusted name as plain text: rich interprets ``[/x]``, and terminals interpret escape sequences."""
    return Text(one_line(text))


def bars(histogram: Mapping[int, int]) -> str:
    """Return a histogram as a row of bars, one per power of two; the first and the last include values beyond."""
    counts = dict.fromkeys(range(_FIRST_EXPONENT, _LAST_EXPONENT + 1), 0)
    for exponent, number in histogram.items():
        counts[min(max(exponent, _FIRST_EXPONENT), _LAST_EXPONENT)] += number
    most = max(counts.values()) or 1
    # Every value that occurs is visible.
    return "".join(_BARS[-(-number * (len(_BARS) - 1) // most)] for number in counts.values())
