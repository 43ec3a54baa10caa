"""What a person reads: aligned figures, values in everyday units, and nothing that a stranger's file could do."""

import pytest

from tuneproof.explain.detect import Kind
from tuneproof.explain.found import Found
from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.terminal import render_text
from tuneproof.explain.values import format_value


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
def test_value_is_shown_in_the_unit_that_a_person_thinks_in(value: float | str | None, unit: str, shown: str) -> None:
    """Counts in full, times below a second in ms, sizes in their order of magnitude."""
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
DIAGNOSIS = ("Found: path loss.", "  For: 3 % of the segments were sent again (a.log).")


def test_the_diagnosis_comes_first_and_each_file_has_its_figures() -> None:
    """The whole page, as a pipe gets it."""
    assert render_text(FOUND, DIAGNOSIS, width=80, color=False) == (
        "Diagnosis\n"
        "  Found: path loss.\n"
        "    For: 3 % of the segments were sent again (a.log).\n"
        "\n"
        "[1] a.log: access log\n"
        "  requests               12\n"
        "  request time, median   250 ms\n"
        "  warning: 2 lines are in no known format\n"
        "\n"
        "[2] b.bin\n"
        "  error: not recognised: first line 'x'\n"
    )


def test_long_sentences_are_wrapped_under_their_beginning() -> None:
    """Eighty columns are enough for any sentence, and no line ends in blanks."""
    sentence = "word " * 40 + "end"
    lines = render_text((), (f"  {sentence}",), width=300, color=False).splitlines()[1:]
    assert max(map(len, lines)) <= 100
    assert len(lines) > 2
    assert all(line.startswith("    word") for line in lines)
    assert " ".join(" ".join(lines).split()) == sentence


def test_a_file_shows_its_first_figures_and_all_of_them_on_request() -> None:
    """The diagnosis comes first; what is left out is said."""
    figures = tuple(Figure(key=f"key_{number}", name=f"figure {number}", value=number) for number in range(10))
    found = (Found(name="a", kind=Kind.SS, figures=figures),)
    short = render_text(found, (), width=60, color=False)
    assert "figure 7" in short
    assert "figure 8" not in short
    assert short.splitlines()[-1] == "  2 figures more with --details"
    whole = render_text(found, (), width=60, color=False, details=True)
    assert "figure 9" in whole
    assert "--details" not in whole


def test_a_long_value_is_wrapped_beside_its_name() -> None:
    """The name stays on one line, so that the figures can be looked through."""
    found = Found(
        name="a", kind=Kind.NGINX_CONF, figures=(Figure(key="some", name="log_format own", value="$status " * 20),)
    )
    lines = render_text((found,), (), width=60, color=False).splitlines()
    at = lines.index("[1] a: nginx configuration")
    assert lines[at + 1].startswith("  log_format own   $status")
    assert lines[at + 2].startswith("                   $status")


def test_an_indented_figure_stays_indented() -> None:
    """It belongs to the one before; the values stand below each other all the same."""
    figures = (Figure(key="some", name="connections", value=7), Figure(key="some", name="  refused", value=2))
    found = Found(name="a", kind=Kind.CAPTURE, figures=figures)
    lines = render_text((found,), (), width=60, color=False).splitlines()
    assert lines[-2:] == ["  connections   7", "    refused     2"]


def test_colours_come_only_where_they_are_asked_for() -> None:
    """A pipe gets plain ASCII; a terminal gets headings and warnings that stand out."""
    assert "\x1b" not in render_text(FOUND, DIAGNOSIS, width=80, color=False)
    assert "\x1b[33mwarning\x1b[0m" in render_text(FOUND, DIAGNOSIS, width=80, color=True)


@pytest.mark.parametrize("color", [True, False])
def test_a_file_name_or_a_line_of_a_stranger_commands_no_terminal(color: bool) -> None:  # noqa: FBT001 - both ways
    """Control characters and rich's markup are shown, not obeyed."""
    found = Found(name="\x1b]0;x\x07.log", kind=None, error="[red]line[/red] \x1b[2J")
    text = render_text((found,), ("\x1b[31m\rfor",), width=80, color=color)
    for command in ("\x1b]", "\x07", "\x1b[2J", "\x1b[31m\r", "\r"):
        assert command not in text
    assert "[red]line[/red]" in text
