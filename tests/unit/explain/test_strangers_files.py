"""Files of every kind are explained together; damaged ones are tests/fuzz's."""

from pathlib import Path

import pytest

from tests.unit.explain.test_detect import SAMPLES
from tuneproof.explain.detect import Kind
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import sources
from tuneproof.explain.terminal import render_text

LOG = '10.0.0.2 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"\n'


def test_all_kinds_are_read_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    texts = {kind: text for kind, text in SAMPLES.items() if kind is not Kind.CAPTURE}
    for kind, text in {**texts, Kind.ACCESS_LOG: LOG * 3}.items():
        (tmp_path / kind.name).write_text(text)
    explanation = explain(sources([str(tmp_path)]))
    text = render_text(explanation.found, explanation.diagnosis, width=80, color=False, everything=True)
    assert capsys.readouterr() == ("", "")
    assert "error:" not in text
    assert [kind for kind in Kind if kind is not Kind.CAPTURE and f": {kind}\n" not in text] == []
