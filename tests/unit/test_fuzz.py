"""No parser fails on a sample of damaged evidence; ``python -m tests.fuzz`` also limits time and memory."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.checks import ContradictionError, check_figures
from tests.fuzz.parsers import READERS, is_parsed
from tests.fuzz.seeds import SEEDS
from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

INPUTS: Final = 60
# Parts that are replaced, and replacements for them: numbers, with the limits of common ranges and with texts that
# resemble numbers; words, quoted texts and innermost brackets; and any part, with NULs, invalid UTF-8 (overlong, half
# of a surrogate pair, cut), a byte order mark, line breaks, spaces, similar characters, punctuation, and deep nesting.
_KINDS: Final = (
    (
        re.compile(rb"\d+(?:\.\d+)?"),
        (
            *b"0 1 0001 9999 -1 +1 1_0 0x10 -0.001 .5 65536 4294967296 18446744073709551616 1e308 1e400 nan".split(),
            *(b"", b"9" * 25, b"9" * 5_000, "\u0663".encode(), "\u00b2".encode()),
        ),
    ),
    (
        re.compile(rb'"[^"\n]{0,200}"|[\w.%$/-]+|\[[^][{}]{0,500}\]|\{[^][{}]{0,500}\}'),
        tuple(b'null true [] {} "" [[]] - 0'.split()),
    ),
    (
        re.compile(rb"(?!)"),
        (
            *(b"", b"\0" * 4, b"\xff" * 4, b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82", b"\xef\xbb\xbf", b"\r", b"\n"),
            *(b"\x0b", b"\x1c", b" ", b"\t", "\u0085".encode(), "\u2028".encode(), "\u00a0".encode()),
            *rb"""- : , " ' \ \x22 \u $ # { } [ ] ( )""".split(),
            *(b"[" * 2_000, b'{"a":' * 1_000),
        ),
    ),
)


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Return a valid input in which one to three parts are replaced, perhaps with a part of another input."""
    content, other = draw(st.sampled_from(seeds)), draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 3))):
        pattern, values = draw(st.sampled_from(_KINDS))
        start, end = draw(parts(content, pattern))
        first, last = draw(parts(other, pattern))
        content = content[:start] + draw(st.sampled_from((other[first:last], *values))) + content[end:]
    return content


@st.composite
def parts(draw: st.DrawFn, content: bytes, pattern: re.Pattern[bytes]) -> tuple[int, int]:
    """Return the start and the end of a match, or of any part if nothing matches; most such parts are short."""
    if spans := [found.span() for found in pattern.finditer(content)]:
        return draw(st.sampled_from(spans))
    start = draw(st.integers(0, len(content)))
    longest = draw(st.sampled_from((0, 1, 4, 16, 64, len(content))))
    return start, min(len(content), start + draw(st.integers(0, longest)))


@pytest.mark.parametrize("name", READERS)
def test_damaged_evidence_leads_to_a_result_or_a_malformed_evidence_error(name: str) -> None:
    """No input leads to another error or to a warning; undamaged evidence is read."""
    assert all(is_parsed(name, seed) for seed in SEEDS[name])
    results: Counter[bool] = Counter()

    @settings(
        database=None,
        derandomize=True,
        deadline=None,
        max_examples=INPUTS,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
    )
    @given(damaged(SEEDS[name]))
    def read(content: bytes) -> None:
        results[is_parsed(name, content)] += 1

    read()
    # The parser must also recognise some of the inputs.
    assert results[True] > INPUTS // 20


def test_an_error_without_a_place_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user would have to search the whole file."""
    monkeypatch.setitem(READERS, "wrk", Mock(side_effect=MalformedEvidenceError("somewhere")))
    with pytest.raises(ContradictionError, match="an error without a place: somewhere"):
        is_parsed("wrk", b"")


SOUND = [Figure(key=f"key_{number}", name="sound", value=None) for number in range(40)]


@pytest.mark.parametrize(
    "figures",
    [
        [Figure(key="some", name="share", value=float("nan"))],
        [Figure(key="some", name="rate", value=float("inf"))],
        [Figure(key="some", name="count", value=-1)],
        [Figure(key="some", name="text", value="\ud800")],
        [Figure(key="some", name="\udfff", value=1)],
        [*SOUND, Figure(key="more", name="sound", value=1)],
        [Figure(key="some", name="sound", value=1, of="a")] * 2,
    ],
    ids=["nan", "inf", "below 0", "text", "name", "too many", "same key of the same thing"],
)
def test_figures_that_cannot_be_shown_or_distinguished_are_failures(figures: list[Figure]) -> None:
    """JSON lacks NaN and infinity, UTF-8 cannot encode half a surrogate pair, and programs look figures up by key."""
    check_figures(SOUND)
    check_figures([Figure(key="some", name="sound", value=1, of=of) for of in ("a", "b")])
    with pytest.raises((ContradictionError, UnicodeEncodeError)):
        check_figures(figures)
