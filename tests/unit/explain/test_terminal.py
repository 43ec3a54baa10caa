"""The text output aligns figures, shows values in common units, and contains no control sequences from files."""

import pytest

from tests.support.canned_evidence import grown, load_run, seen
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.found import Found
from tuneproof.explain.parse.figures import Figure, format_value
from tuneproof.explain.terminal import render_text


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (3_602_590, "", "3602590"),
        (3_602_590, "bytes", "3.44 MiB"),
        (512, "bytes", "512 bytes"),
        (20_480.0, "bytes", "20 KiB"),
        (0.0456789, "s", "45.7 ms"),
        (0.0, "s", "0 s"),
        (1.23456, "s", "1.23 s"),
        (12.3456, "%", "12.3 %"),
        (786.4, "1/s", "786/s"),
        (None, "s", "not known"),
        ("complete", "", "complete"),
        ("\x1b[2Jevil\nname", "", "\\x1b[2Jevil name"),
    ],
)
def test_a_value_is_shown_in_a_common_unit(value: float | str | None, unit: str, shown: str) -> None:
    assert format_value(Figure(key="some", name="x", value=value, unit=unit)) == shown


FOUND = (
    Found(
        name="a.log",
        kind=Kind.ACCESS_LOG,
        figures=(
            Figure(key="some", name="requests", value=12),
            Figure(key="some", name="request time, median", value=0.25, unit="s"),
        ),
        warnings=("2 lines are in no known format",),
    ),
    Found(name="b.bin", kind=None, error="not recognised: first line 'x'"),
)
NOTHING = diagnose(EvidenceSet())
OVERFLOWS = diagnose(seen(grown(ListenOverflows=9, ListenDrops=9)))


def test_the_first_screen_begins_with_the_cause_and_names_each_file_by_its_number() -> None:
    """Without --details, the first screen is the whole output."""
    named = (Found(name="counters 1", kind=Kind.NSTAT), *FOUND)
    assert render_text(named, OVERFLOWS, width=80, color=False) == (
        "FOUND: The accept queue overflows\n"
        "Why      9 packets met a full accept queue (ListenOverflows grew).           [1]\n"
        "Open     not checked: refused, no local port, stale keepalive connection,\n"
        "         reload, no live upstream, event-loop stall, slow-reader buffering,\n"
        "         backend slow, client gone\n"
        "Not      SYN-queue drop, path loss\n"
        "Next     raise both the listener's backlog (in nginx backlog= of listen)\n"
        "         and net.core.somaxconn, and find out what keeps its program from\n"
        "         accepting: docs/listen-queues.md.\n"
        "Warning  2 lines are in no known format                                      [2]\n"
        "Skipped  b.bin: not recognised: first line 'x'                               [3]\n"
        "[1] counters 1  [2] a.log  More: --details\n"
    )
    recording = Found(name="loops", kind=Kind.EVENT_LOOPS, warnings=("at 3 s: 1 worker started: 7",))
    assert "\nNote  at 3 s: 1 worker" in render_text((recording,), NOTHING, width=80, color=False)


def test_details_add_reasons_and_figures_to_the_first_screen() -> None:
    assert "\x1b[33mWarning\x1b[0m" in render_text(FOUND, OVERFLOWS, width=80, color=True)
    first = render_text(FOUND, OVERFLOWS, width=80, color=False).removesuffix("  More: --details\n")
    whole = render_text(FOUND, OVERFLOWS, width=80, color=False, everything=True)
    assert whole.startswith(f"{first}\n\nReasons\n  Found: The accept queue overflows.\n    For: 9 packets met")
    assert whole.endswith(
        "\n[1] a.log: access log\n  requests               12\n  request time, median   250 ms\n\n[2] b.bin\n"
    )


def test_the_lines_of_a_wrapped_sentence_are_aligned() -> None:
    sentence = "word " * 40 + "end"
    found = (Found(name="a", kind=Kind.SS, warnings=(sentence,)),)
    lines = render_text(found, NOTHING, width=300, color=False).splitlines()
    shown = [line for line in lines if "word" in line]
    assert max(map(len, shown)) <= 100
    assert len(shown) > 2
    assert all(line.startswith("         word") for line in shown[1:])
    assert " ".join(" ".join(shown).replace("[1]", "").split()) == f"Warning {sentence}"


def test_a_long_value_is_wrapped_next_to_its_name() -> None:
    """The name stays on one line; a figure that is part of another is indented."""
    figures = (
        Figure(key="some", name="log_format own", value="$status " * 20),
        Figure(key="some", name="connections", value=7),
        Figure(key="some", name="  refused", value=2),
    )
    found = Found(name="a", kind=Kind.NGINX_CONF, figures=figures)
    lines = render_text((found,), NOTHING, width=60, color=False, everything=True).splitlines()
    at = lines.index("[1] a: nginx configuration")
    assert lines[at + 1].startswith("  log_format own   $status")
    assert lines[at + 2].startswith("                   $status")
    assert lines[-2:] == ["  connections      7", "    refused        2"]


@pytest.mark.parametrize("color", [True, False])
def test_control_sequences_in_names_and_lines_do_not_reach_the_terminal(color: bool) -> None:  # noqa: FBT001 - a parameter
    found = Found(name="\x1b]0;x\x07.log", kind=None, error="[red]line[/red] \x1b[2J")
    load = load_run(notes=("\x1b[31m\rConnection refused",))
    text = render_text((found,), diagnose(seen(load)), width=80, color=color, everything=True)
    for command in ("\x1b]", "\x07", "\x1b[2J", "\x1b[31m\r", "\r"):
        assert command not in text
    assert "[red]line[/red]" in text
