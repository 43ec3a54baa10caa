"""What a decided cell leaves on disk."""

import json
from dataclasses import replace

import pytest

from tests.support.canned_trials import stall_record
from tests.support.fake_bench import SUBJECT, FakeBench, access_line, claim, measuring, stalled
from tuneproof.errors import BadInputError
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.report.results.run_file import ResultsWriter


def test_every_file_of_the_evidence_is_written_and_listed(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paths are relative to results.json, and nothing lies in the folder that is not listed."""
    stall = claim("stall", "loaded")
    cell = measuring(FakeBench(stalled), writer, monkeypatch, stall).decide(stall)
    folder = (writer.folder / cell.evidence[0]).parent
    assert folder.parent == writer.folder / "evidence"
    assert sorted(path.name for path in folder.iterdir()) == [
        "effects.json",
        "host.json",
        "samples.jsonl",
        "subject.access.json",
        "subject.access.log",
        "subject.nginx.conf",
        "subject.preconditions.json",
    ]
    assert [writer.folder / path for path in cell.evidence] == sorted(folder.iterdir())


def test_the_evidence_is_what_was_measured(writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration and preconditions as they were, each trial with its whole record, each block's effect."""

    def recorded(_: str, number: int) -> StallRecord:
        return stall_record(lags_ms=([20.0 + number % 3], [1.0]), steal_pct=3.0, measuring_s=1.25)

    stall = claim("stall", "loaded")
    cell = measuring(FakeBench(recorded), writer, monkeypatch, stall).decide(stall)
    folder = (writer.folder / cell.evidence[0]).parent
    text = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert text["subject.nginx.conf"] == SUBJECT.config.render()
    assert json.loads(text["subject.preconditions.json"]) == {"nginx": "1.22", "workers": 2}
    assert json.loads(text["effects.json"]) == {"effect_per_block": [21, 22, 20, 21, 22]}
    samples = [json.loads(line) for line in text["samples.jsonl"].splitlines()]
    assert [(item["arm"], item["block"], item["label"]) for item in samples] == [
        ("loaded", block, f"loaded-b{block}") for block in range(1, 6)
    ]
    assert from_plain(StallRecord, samples[2]["raw"]) == recorded("loaded", 3)
    assert set(samples[2]) == {"arm", "block", "label", "void_reasons", "measuring_s", "steal_pct", "raw"}
    assert (samples[2]["measuring_s"], samples[2]["steal_pct"]) == (1.25, 3.0)


def test_a_cell_has_the_log_of_its_own_trials_alone(writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of other arms stay out; a line that cannot be read stays in, and is counted."""
    bench = FakeBench(stalled)
    bench.log = f"{access_line('/small.bin', 'instrument')}broken line\n"
    first, second = claim("first", "one"), claim("second", "two")
    measurement = measuring(bench, writer, monkeypatch, first, second)
    cell = measurement.decide(first)
    folder = (writer.folder / cell.evidence[0]).parent
    lines = (folder / "subject.access.log").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "broken line"
    assert len(lines) == 1 + 2 * 5
    assert all('trial="one-b' in line for line in lines[1:])
    assert json.loads((folder / "subject.access.json").read_text(encoding="utf-8"))["unmatched_lines"] == 1


def test_the_logs_figures_leave_bulk_downloads_out(writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is cut short by its trial's end, which is no sign of a stall."""
    stall = claim("stall", "loaded")
    cell = measuring(FakeBench(stalled), writer, monkeypatch, stall).decide(stall)
    (path,) = [path for path in cell.evidence if path.endswith("subject.access.json")]
    figures = json.loads((writer.folder / path).read_text(encoding="utf-8"))
    assert (figures["requests"], figures["short_200"]) == (5, 0)


def test_a_subject_that_logs_nothing_leaves_no_log(writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one would say that nobody asked for anything; it is not even fetched."""
    silent = replace(SUBJECT, config=replace(SUBJECT.config, access_log=False))
    bench = FakeBench(stalled)
    monkeypatch.setattr(bench, "access_log", lambda _: pytest.fail("there is no log"))
    stall = claim("stall", "loaded")
    cell = measuring(bench, writer, monkeypatch, stall, subject=silent).decide(stall)
    assert [path.rpartition("/")[2] for path in cell.evidence] == [
        "effects.json",
        "host.json",
        "samples.jsonl",
        "subject.nginx.conf",
        "subject.preconditions.json",
    ]


def test_a_results_folder_that_is_in_the_way_is_one_clear_error(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's name is a file's: nothing can be written, and the message names the place."""
    (writer.folder / "evidence").write_text("", encoding="utf-8")
    stall = claim("stall", "loaded")
    with pytest.raises(BadInputError) as caught:
        measuring(FakeBench(stalled), writer, monkeypatch, stall).decide(stall)
    assert str(writer.folder / "evidence") in caught.value.where


def capture(number: int) -> dict[str, bytes]:
    """Return what a trial left behind besides."""
    return {"nginx.pcap.gz": b"capture of %d" % number}


def test_files_of_a_trial_are_kept_once_and_listed_by_every_cell_that_used_it(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture may be large; and a record of text has no place for bytes."""
    first, second = claim("first", "loaded"), claim("second", "loaded")
    decide = measuring(FakeBench(stalled, files=capture), writer, monkeypatch, first, second).decide
    of_trials = [[path for path in decide(item).evidence if path.startswith("trials/")] for item in (first, second)]
    assert of_trials[0] == of_trials[1]
    assert [(writer.folder / path).read_bytes() for path in of_trials[0]] == [b"capture of %d" % n for n in range(1, 6)]
    assert "capture" not in (writer.folder / "trials.jsonl").read_text(encoding="utf-8")
