"""The table of verdicts says everything at any width, in colour and in plain ASCII."""

from typing import Any

import pytest

from tuneproof.report.results.cells import Cell, Effect
from tuneproof.report.terminal.table import render_table

CLAIM = "A worker that carries bulk downloads stalls, while the idle worker does not (lag, loaded ÷ idle)"
RATIO = Effect(name="lag", unit="ratio", value=134.2, ci_low=98.0, ci_high=180.4)
SHARE = Effect(name="slow", unit="share", value=0.125, ci_low=-0.02, ci_high=0.27)


def a_cell(**changes: Any) -> Cell:
    """Return a cell that holds, with ``changes``."""
    values: dict[str, Any] = {
        "id": "stall[1.22]",
        "name": "stalls",
        "scenario": "reuseport_stall",
        "claim": CLAIM,
        "source": "",
        "nginx": "1.22.1",
        "network": "bare",
        "verdict": "holds",
        "expected": "holds",
        "threshold": 5.0,
        "effect": RATIO,
        "arms": {},
        "blocks": 6,
        "void_blocks": 0,
        "seconds": 31.24,
        "measuring_seconds": 24.0,
        "evidence": (),
        "reason": "",
    }
    return Cell(**(values | changes))


def columns(text: str) -> list[str]:
    """Return each column of a plain table, its wrapped lines put together without spaces."""
    rows = [line[1:-1].split("|") for line in text.splitlines() if line.startswith("|") and "--" not in line]
    return ["".join(cell for row in rows for cell in row[index].split()) for index in range(len(rows[0]))]


@pytest.mark.parametrize("width", [1, 40, 57, 69, 70, 80, 109, 110, 200, None])
def test_table_loses_nothing_at_any_width(width: int | None) -> None:
    """A narrow table wraps inside its cells: every column is whole, and no line is wider than asked."""
    cells = [a_cell(), a_cell(verdict="refuted", effect=SHARE, void_blocks=2)]
    text = render_table(cells, width=width, color=False)
    claim = CLAIM.replace("÷", "/").replace(" ", "")
    assert columns(text) == [
        f"claim{claim}{claim}",
        "nginx1.22.11.22.1",
        "effect[interval]134x[98-180]12.5pp[-2to27]",
        "verdictholdsrefuted(expectedholds)",
        "blocks66(+2void)",
        "seconds31.231.2",
    ]
    lengths = {len(line) for line in text.splitlines()}
    assert len(lengths) == 1
    assert lengths.pop() <= max(width or 120, 40)


def test_wide_table_keeps_each_value_in_one_piece() -> None:
    """Where there is room, only the claim wraps."""
    row = render_table([a_cell(void_blocks=1)], width=120, color=False).splitlines()[3]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        "1.22.1",
        "134x [98-180]",
        "holds",
        "6 (+1 void)",
        "31.2",
    ]


def test_plain_table_is_ascii_whatever_the_cell_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log file gets no escape sequence and no character that its encoding may lack, whatever the environment says."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    text = render_table([a_cell(claim="停 \x1b[31m≥ 1 s", reason="a → b")], width=120, color=False)
    assert "1.22.1 | 134x [98-180] " in text
    assert text.isascii()
    assert "\x1b" not in text
    assert r"\u505c \x1b[31m>= 1 s" in text
    assert "a -> b" in text


def test_colour_tells_whether_the_expectation_was_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Green is as expected, also when that is refuted; red contradicts; yellow is undecided."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    expected_away = a_cell(verdict="refuted", expected="refuted")
    contradicted = a_cell(verdict="holds", expected="refuted")
    undecided = a_cell(verdict="inconclusive", reason="the interval holds the threshold")
    assert "\x1b[32mrefuted" in render_table([expected_away], width=120, color=True)
    assert "\x1b[31mholds (expected refuted)" in render_table([contradicted], width=120, color=True)
    assert "\x1b[33minconclusive (expected holds)" in render_table([undecided], width=120, color=True)


@pytest.mark.parametrize("verdict", ["holds", "refuted"])
def test_verdict_without_an_expectation_stands_alone_and_has_no_colour(verdict: str) -> None:
    """Where nobody has claimed anything, what was found is neither good nor bad."""
    text = render_table([a_cell(verdict=verdict, expected=None)], width=120, color=True)
    assert f"│ {verdict} " in text
    assert "expected" not in text
    assert "\x1b[3" not in text


def test_undecided_cell_without_an_expectation_is_yellow() -> None:
    """That nothing was found out is worth a colour on any network."""
    cell = a_cell(verdict="inconclusive", expected=None, reason="the interval holds the threshold")
    text = render_table([cell], width=120, color=True)
    assert "\x1b[33minconclusive\x1b" in text
    assert "expected" not in text


def test_foreign_text_cannot_command_the_terminal_or_the_layout() -> None:
    """Escape sequences and rich's markup in a merged file are shown, not obeyed."""
    text = render_table([a_cell(claim="\x1b]0;owned\x07 [red]x[/red] :smile:")], width=200, color=True)
    assert r"\x1b]0;owned\x07 [red]x[/red] :smile:" in text


def test_reasons_stand_below_the_table_on_one_line_each() -> None:
    """Why a cell is undecided is not cut to the terminal's width."""
    long = "the host is too noisy: " + "steal 40 % " * 20
    cells = [
        a_cell(),
        a_cell(id="cure[1.22]", verdict="inconclusive", reason=long),
        a_cell(id="price[1.22]", verdict="unsupported", effect=None, reason="no netem:\nno module"),
    ]
    lines = render_table(cells, width=80, color=False).splitlines()
    assert lines[-2:] == [
        f"inconclusive: cure[1.22]: {long.strip()}",
        "unsupported: price[1.22]: no netem: no module",
    ]


def test_measuring_share_is_shown_when_the_whole_time_is_known() -> None:
    """The share of the wall time that went into measuring stands on the last line."""
    text = render_table([a_cell(), a_cell(measuring_seconds=36.0)], width=80, color=False, seconds=80.0)
    assert text.splitlines()[-1] == "measuring: 60.0 s of 80.0 s (75%)"
    assert "measuring" not in render_table([a_cell()], width=80, color=False)


def test_network_is_named_where_it_tells_rows_apart() -> None:
    """Two cells of one claim and one version differ by their network."""
    both = columns(render_table([a_cell(), a_cell(network="wan")], width=120, color=False))
    assert both[1] == "nginx1.22.1bare1.22.1wan"


@pytest.mark.parametrize("width", [40, 70, 80, 110, 120])
def test_only_network_is_named_when_it_is_shaped(width: int) -> None:
    """A verdict on a shaped network is not mistaken for one on the bare bridge, and a long name loses nothing."""
    name = "backend.rate=2gbit,client.ingress.rate=100mbit,delay=20ms,loss=1%"
    shaped = columns(render_table([a_cell(network=name), a_cell(network=name)], width=width, color=False))
    assert shaped[1] == f"nginx1.22.1{name}1.22.1{name}"
    assert shaped[-1] == "seconds31.231.2"
    bare = columns(render_table([a_cell(), a_cell()], width=width, color=False))
    assert bare[1] == "nginx1.22.11.22.1"


def test_run_without_cells_says_so() -> None:
    """A run that was interrupted early has no table, and no error either."""
    assert render_table([], width=80, color=False, seconds=3.0) == (
        "No cell was decided.\nmeasuring: 0.0 s of 3.0 s (0%)\n"
    )
