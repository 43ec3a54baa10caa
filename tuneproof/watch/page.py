"""A page about one recording: each worker's long iterations and busy share over time, in a self-contained file."""

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

from plotly import graph_objects  # type: ignore[import-untyped]  # it ships no types

from tuneproof.explain.parse.event_loop import LongIteration, LoopRecording
from tuneproof.explain.parse.event_loop_summary import describe, parts
from tuneproof.user_files import write_text

_HEAD: Final = '<!doctype html><html lang="en"><meta charset="utf-8"><title>nginx event loops</title>'


def write_page(recording: LoopRecording, diagnosis: Iterable[str], file: Path) -> None:
    """Write the page. BadInputError: The file cannot be written."""
    figure = graph_objects.Figure()
    busy: dict[int, list[tuple[float, float]]] = defaultdict(list)
    long: dict[tuple[int, str], list[LongIteration]] = defaultdict(list)
    for second in recording.seconds:
        busy[second.worker].append((second.at_s, 100 * second.busy_s / (second.lasted_s or 1)))
        for each in second.long:
            long[second.worker, max(parts(each), key=lambda why: parts(each)[why], default="several reasons")].append(
                each
            )
    for worker, points in busy.items():
        at_s, share = zip(*points, strict=True)
        figure.add_scatter(x=at_s, y=share, name=f"{worker}: busy", mode="lines", yaxis="y2", opacity=0.4)
    for (worker, reason), iterations in long.items():
        figure.add_scatter(
            x=[each.at_s for each in iterations],
            y=[1000 * each.took_s for each in iterations],
            # Plotly renders texts as HTML.
            text=[escape(describe(each)) for each in iterations],
            name=f"{worker}: {reason}",
            mode="markers",
        )
    figure.update_layout(
        title=f"Iterations of 5 ms or longer, recorded from {recording.began}",
        xaxis_title="s since the start",
        yaxis={"title": "iteration, ms", "type": "log"},
        yaxis2={"title": "busy, %", "overlaying": "y", "side": "right", "range": [0, 105]},
    )
    text = escape("\n".join([*diagnosis, *recording.notes]))
    chart: str = figure.to_html(full_html=False, include_plotlyjs=True)
    write_text(file, f"{_HEAD}<h1>nginx event loops</h1><pre>{text}</pre>{chart}</html>")
