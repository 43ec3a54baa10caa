"""The evidence files of a decided cell."""

import json
from dataclasses import replace

import pytest

from tests.support.canned_trials import stall_record
from tests.support.fake_bench import SUBJECT, Deciding, FakeBench, access_line, calm, claim, stalled
from tuneproof.errors import DiskFullError
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.proof.scenario.containers import OwnNginxError
from tuneproof.report.charts.records import Material
from tuneproof.report.results.run_file import load

FILES = ["effects.json", "host.json", "samples.jsonl", "subject.nginx.conf", "subject.preconditions.json"]


def test_every_file_of_the_evidence_is_written_and_listed(decide: Deciding) -> None:
    """The paths are relative to results.json, and the folder contains nothing that is not listed."""
    cell = decide(stalled)
    folder = (decide.writer.folder / cell.evidence[0]).parent
    assert folder.parent == decide.writer.folder / "evidence"
    assert sorted(decide.texts(cell)) == sorted([*FILES, "subject.access.json", "subject.access.log"])
    assert [decide.writer.folder / path for path in cell.evidence] == sorted(folder.iterdir())
    figures = json.loads(decide.texts(cell)["subject.access.json"])
    assert (figures["requests"], figures["short_200"]) == (5, 0), "bulk downloads are cut short by their trial's end"


def test_the_evidence_contains_the_whole_measurement(decide: Deciding) -> None:
    def recorded(_: str, number: int) -> StallRecord:
        return stall_record(lags_ms=([20.0 + number % 3], [1.0]), steal_pct=3.0, measuring_s=1.25)

    cell = decide(recorded)
    text, samples = decide.texts(cell), decide.samples(cell)
    assert text["subject.nginx.conf"] == SUBJECT.config.render()
    assert json.loads(text["subject.preconditions.json"]) == {"nginx": "1.22", "workers": 2}
    assert json.loads(text["effects.json"]) == {"effect_per_block": [21, 22, 20, 21, 22]}
    assert [(item["arm"], item["block"], item["label"]) for item in samples] == [
        ("loaded", block, f"loaded-b{block}") for block in range(1, 6)
    ]
    assert from_plain(StallRecord, samples[2]["raw"]) == recorded("loaded", 3)
    assert set(samples[2]) == {"arm", "block", "label", "void_reasons", "measuring_s", "steal_pct", "raw"}
    assert (samples[2]["measuring_s"], samples[2]["steal_pct"]) == (1.25, 3.0)


def test_a_cell_keeps_only_the_log_lines_of_its_own_trials(decide: Deciding) -> None:
    """Lines of other arms are left out; an unreadable line is kept and counted."""
    bench = FakeBench(stalled)
    bench.log = f"{access_line('/small.bin', 'instrument')}broken line\n"
    first, second = claim("first", "one"), claim("second", "two")
    text = decide.texts(decide.measuring(bench, first, second).decide(first))
    lines = text["subject.access.log"].splitlines()
    assert lines[0] == "broken line"
    assert len(lines) == 1 + 2 * 5
    assert all('trial="one-b' in line for line in lines[1:])
    assert json.loads(text["subject.access.json"])["unmatched_lines"] == 1


def test_a_log_is_fetched_again_after_further_trials(decide: Deciding) -> None:
    """The evidence of a claim that needs further blocks contains the lines of all its blocks."""

    def canned(arm_name: str, number: int) -> StallRecord:
        return calm(arm_name, number) if (arm_name, number) == ("two", 2) else stalled(arm_name, number)

    first, second = claim("first", "one"), claim("second", "two")
    measurement = decide.measuring(FakeBench(canned), first, second)
    sizes = [decide.texts(measurement.decide(each))["subject.access.log"].count("\n") for each in (first, second)]
    assert sizes == [2 * 5, 2 * 9]


def test_a_failed_block_leaves_nothing_in_the_evidence_of_its_replacement(decide: Deciding) -> None:
    """One trial of block 3 succeeded before the other one failed. Only the journal contains it."""

    def canned(arm_name: str, number: int) -> StallRecord:
        if len(bench.trials) == 6:
            raise OwnNginxError("the container died")
        return stalled(arm_name, number)

    bench = FakeBench(canned)
    asked = claim("stall", "one", "two")
    measurement = decide.measuring(bench, asked)
    with pytest.raises(OwnNginxError, match="the container died"):
        measurement.decide(asked)
    cell = measurement.decide(asked)
    samples = decide.samples(cell)
    assert (cell.blocks, len(samples)) == (5, 10)
    assert sorted((item["arm"], item["block"]) for item in samples) == [
        (arm, block) for arm in ("one", "two") for block in (1, 2, 4, 5, 6)
    ]
    assert decide.texts(cell)["subject.access.log"].count("-b3") == 0
    assert Material.of(cell, decide.texts(cell)).arms.keys() == {"one", "two"}
    assert {len(trials) for trials in Material.of(cell, decide.texts(cell)).arms.values()} == {5}
    journal = (decide.writer.folder / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["block"] for line in journal].count(3) == 1


def test_a_subject_without_a_log_leaves_no_log_file(decide: Deciding, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file would mean that there were no requests; the log is not requested, either."""
    bench = FakeBench(stalled)
    monkeypatch.setattr(bench, "access_log", lambda _: pytest.fail("there is no log"))
    cell = decide(bench, subject=replace(SUBJECT, config=replace(SUBJECT.config, access_log=False)))
    assert [path.rpartition("/")[2] for path in cell.evidence] == FILES


def test_a_trials_files_are_kept_once_and_listed_by_every_cell_that_used_it(decide: Deciding) -> None:
    """A capture may be large, and a text record cannot contain bytes."""
    first, second = claim("first", "loaded"), claim("second", "loaded")
    bench = FakeBench(stalled, files=lambda number: {"nginx.pcap.gz": b"capture of %d" % number})
    folder, measured = decide.writer.folder, decide.measuring(bench, first, second)
    of_trials = [
        [path for path in measured.decide(item).evidence if path.startswith("trials/")] for item in (first, second)
    ]
    assert of_trials[0] == of_trials[1]
    assert [(folder / path).read_bytes() for path in of_trials[0]] == [b"capture of %d" % n for n in range(1, 6)]
    assert "capture" not in (folder / "trials.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["samples.jsonl", "trials.jsonl"])
def test_a_full_disk_while_writing_evidence_gives_one_message(name: str, decide: Deciding) -> None:
    decide(stalled)
    folders = {"samples.jsonl": decide.writer.evidence_folder("stall/stall/nginx-1.22/bare")}
    full = folders.get(name, decide.writer.folder) / name
    full.unlink()
    full.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"(?s)No space left.*already written are kept"):
        decide(stalled)
    assert [cell.verdict for cell in load(decide.writer.folder).cells] == ["holds"]
