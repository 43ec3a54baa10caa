"""Whatever a file holds, there is an explanation, never a traceback; and text and JSON can be made of it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.mutations import mutated
from tests.unit.explain.test_detect import SAMPLES
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.render import to_json
from tuneproof.explain.document import document
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources
from tuneproof.explain.terminal import render_text

LOG = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"\n'
TEXTS = [*(text for kind, text in SAMPLES.items() if kind is not Kind.CAPTURE), LOG * 3]


def explained(*contents: bytes) -> str:
    """Explain files with these contents, in all ways, and return the text."""
    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(contents):
            (Path(folder) / str(number)).write_bytes(content)
        explanation = explain(sources([folder]))
    document(explanation.found, to_json(explanation.diagnosis))
    return render_text(explanation.found, explanation.diagnosis, width=80, color=False, everything=True)


@settings(max_examples=100, derandomize=True, database=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_explained(content: bytes) -> None:
    """Mostly as nothing that is known."""
    assert "Reasons" in explained(content)


@settings(max_examples=300, derandomize=True, database=None)
@given(st.sampled_from(TEXTS).flatmap(lambda text: st.tuples(st.just(text), mutated(text))))
def test_damaged_texts_are_explained(texts: tuple[str, str]) -> None:
    """Beside the same text undamaged, so that there is something to compare: it is read, or told with its place."""
    assert "Reasons" in explained(*(text.encode() for text in texts))


@pytest.mark.parametrize("magic", ["d4c3b2a1", "a1b2c3d4", "0a0d0d0a"])
@settings(max_examples=30, derandomize=True, database=None)
@given(rest=st.binary(max_size=100))
def test_damaged_captures_are_explained(magic: str, rest: bytes) -> None:
    """The magic number alone makes no capture."""
    assert "packet capture" in explained(bytes.fromhex(magic) + rest)


def test_all_kinds_are_read_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Without an error among them, and nothing is printed on the way."""
    text = explained(*(text.encode() for text in TEXTS))
    assert capsys.readouterr() == ("", "")
    assert "error:" not in text
    assert [kind for kind in Kind if kind is not Kind.CAPTURE and f": {kind}\n" not in text] == []
