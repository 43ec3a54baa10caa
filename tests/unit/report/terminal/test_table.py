"""The list of verdicts says everything, in colour and in plain ASCII, a line for each claim."""

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


def test_a_plain_list_is_ascii_whatever_the_cell_holds() -> None:
    """A log file gets no escape sequence and no character that its encoding may lack."""
    cell = a_cell(name="停 \x1b[31m", verdict="inconclusive", reason="a → b ≥ 1 s")
    text = render_table([cell], color=False)
    assert text.isascii()
    assert "\x1b" not in text
    assert r"\u505c \x1b[31m" in text
    assert "a -> b >= 1 s" in text


def test_colour_tells_whether_the_expectation_was_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Green is as expected, also when that is refuted; red contradicts; yellow is undecided."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    expected_away = a_cell(verdict="refuted", expected="refuted")
    contradicted = a_cell(verdict="holds", expected="refuted")
    undecided = a_cell(verdict="inconclusive", reason="the interval holds the threshold")
    assert "\x1b[32mrefuted" in render_table([expected_away], color=True)
    assert "\x1b[31mholds, expected: refuted" in render_table([contradicted], color=True)
    assert "\x1b[33minconclusive" in render_table([undecided], color=True)


@pytest.mark.parametrize("verdict", ["holds", "refuted"])
def test_verdict_without_an_expectation_stands_alone_and_has_no_colour(verdict: str) -> None:
    """Where nobody has claimed anything, what was found is neither good nor bad."""
    text = render_table([a_cell(verdict=verdict, expected=None)], color=True)
    assert f"  {verdict} " in text
    assert "expected" not in text
    assert "\x1b[3" not in text


def test_undecided_cell_without_an_expectation_is_yellow() -> None:
    """That nothing was found out is worth a colour on any network."""
    cell = a_cell(verdict="inconclusive", expected=None, reason="the interval holds the threshold")
    text = render_table([cell], color=True)
    assert "\x1b[33minconclusive\x1b" in text
    assert "expected" not in text


def test_foreign_text_cannot_command_the_terminal_or_the_layout() -> None:
    """Escape sequences and rich's markup in a merged file are shown, not obeyed."""
    text = render_table([a_cell(name="\x1b]0;owned\x07 [red]x[/red] :smile:")], color=True)
    assert r"\x1b]0;owned\x07 [red]x[/red] :smile:" in text


def test_what_is_open_stands_at_the_end_once_with_its_reason() -> None:
    """What contradicts comes first; a reason is not cut to the terminal's width."""
    long = "the host is too noisy: " + "steal 40 % " * 20
    cells = [
        a_cell(name="cure", verdict="inconclusive", reason=long),
        a_cell(name="wrong", verdict="refuted", reason="3 of 5"),
        a_cell(),
        a_cell(name="price", network="wan", verdict="unsupported", effect=None, reason="no netem:\nno module"),
    ]
    lines = render_table(cells, color=False).splitlines()
    assert lines[lines.index("Not as expected:") :] == [
        "Not as expected:",
        "  wrong (reuseport_stall, nginx 1.22.1): refuted, expected: holds: 3 of 5",
        "  Next: its page in the report shows what was measured; to repeat it, add: -k wrong",
        "",
        "Not decided:",
        f"  cure (reuseport_stall, nginx 1.22.1): inconclusive: {long.strip()}",
        "  price (reuseport_stall, nginx 1.22.1, wan): unsupported: no netem: no module",
        "  Next: more blocks, as a new experiment, decide most of them; for one, add: --depth full -k cure",
        "",
        "decided: 2 of 4",
    ]


def test_a_network_is_named_where_it_is_shaped() -> None:
    """Two cells of one claim and one version differ by their network; the bare bridge goes without saying."""
    name = "backend.rate=2gbit,client.ingress.rate=100mbit,delay=20ms,loss=1%"
    text = render_table([a_cell(), a_cell(network="wan"), a_cell(network=name)], color=False)
    places = [line for line in text.splitlines() if line.startswith("reuseport_stall")]
    assert places == [
        "reuseport_stall, nginx 1.22.1",
        "reuseport_stall, nginx 1.22.1, wan",
        f"reuseport_stall, nginx 1.22.1, {name}",
    ]


def test_run_without_cells_says_so() -> None:
    """A run that was interrupted early has no list, and no error either."""
    assert render_table([], color=False, seconds=3.0) == ("No cell was decided.\n\nmeasuring: 0.0 s of 3.0 s (0%)\n")
