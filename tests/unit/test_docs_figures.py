"""The figures in README.md and docs/ match docs/results.json."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.written_results import a_cell, ratio, unsupported, written
from tools.docs.__main__ import PICTURES, RESULTS, ROOT, combined, pages
from tools.docs.markers import Marker, markers, rewrite
from tools.docs.recorded import recorded
from tools.docs.tables import fill, scenarios_of
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.registration import Registration
from tuneproof.errors import BadInputError
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.inference.verdicts import level_of_medians, level_of_shares
from tuneproof.report.results.cells import Effect
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load
from tuneproof.wording import share

PAGES = list(pages())
MOST_PICTURE_BYTES = 250_000
MOVED = "2026-11-21"
# A comment at the start of a line makes the whole line HTML, in which Markdown is not parsed.
INLINE_AT_START = re.compile(r"^[\s>*-]*<!-- (?:effect|figure|run): ", re.MULTILINE)


@pytest.fixture(scope="module")
def committed() -> Results:
    """Return the results that the pages use."""
    return load(RESULTS)


def test_the_pages_contain_the_confidence_levels_of_the_depths() -> None:
    verdicts, method = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("verdicts.md", "method.md"))
    quick, full = LOOKS[QUICK], LOOKS[FULL]
    further = (*quick, quick[-1] + 6)
    plans = (quick, 0.5), (full, 0.5), ((7, 14), 0.75), (full, 0.75), ((13, 26), 0.75), ((33, 60), 0.9)
    shares = [level_of_shares(*plan) for plan in plans]
    levels = [level_of_medians(quick), level_of_medians(further), level_of_medians(full), min(shares), max(shares)]
    assert [share(level) for level in levels] == ["91.8 %", "90 %", "90.9 %", "92.8 %", "95.9 %"]
    assert [level for level in map(share, levels) if level not in verdicts] == []
    assert share(levels[0]) in method


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the claims of invented runs on the day of their measurement; one changed a day later."""
    days = {"stall/stalls": "2026-11-20", "stall/rare": "2026-11-20", "drops/rare": "2026-11-20", "stall/moved": MOVED}
    entries = {name: Registration(code="", hash="", since=since) for name, since in days.items()}
    monkeypatch.setattr("tools.docs.__main__.registered", lambda: entries)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return the results of an invented run on one version."""
    arms = {"loaded": {"lag_p50_ms": 33.3, "sent_bytes_per_s": 2_500_000.0}, "idle": {"lag_p50_ms": None}}
    slow = Effect(name="drops", unit="share", value=-0.02, ci_low=-0.03, ci_high=0.01)
    right = Effect(name="right", unit="share", value=1.0, ci_low=0.902, ci_high=1.0, count=29, of=29)
    return written(
        tmp_path / "run",
        a_cell("stalls", arms=arms, why="ten times is an outage"),
        a_cell("shared", why="ten times is an outage", exploratory="chosen afterwards"),
        a_cell("rare", verdict="refuted", threshold=0.1, effect=slow),
        a_cell("twins", effect=replace(ratio(1.0, 0.9, 1.1), form="same"), threshold=1.25),
        a_cell("right", effect=right, threshold=0.9, why="one in ten"),
        a_cell("a | b <i> & c"),
        unsupported("second", scenario="other"),
    )


def test_text_between_markers_is_made_from_the_results(
    results: Results, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    page = (
        "Before.\n\n<!-- verdicts: stall, other --><!-- end -->\n\nIs <!-- effect: stall/stalls -->?<!-- end -->.\n\n"
        "<!-- arms: stall/stalls: lag_p50_ms, sent_bytes_per_s --><!-- end -->\n\n<!-- run: all --><!-- end -->\n"
    )
    shares = {"old_plain": 1.0, "old_tls": 0.05, "trials": 5, "new_plain": 0.0, "new_tls": None}
    two = written(
        tmp_path / "two",
        a_cell(nginx="1.30", effect=ratio(2.0, 1.0, 3.0), line="use epoll;", arms={"buffered": shares}),
        a_cell(nginx="1.9", verdict="refuted", expected="refuted", expired_since="1.7", line="use epoll;"),
    )
    kinds = ("verdicts: stall", "versions: stall", "lines: all", "shares: stall/stalls: 1.30: plain, tls")
    other = "\n\n".join(f"<!-- {kind} --><!-- end -->" for kind in kinds)
    assert f"{fill(page, results, where='page')}\n{fill(other, two, where='page')}\n" == snapshot


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_figures_on_a_page_match_the_results(page: Path, committed: Results) -> None:
    text = page.read_text(encoding="utf-8")
    assert fill(text, committed, where=page.name) == text, "fix: .venv/bin/python -m tools.docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_figure_within_a_sentence_begins_a_line(page: Path) -> None:
    assert not INLINE_AT_START.search(page.read_text(encoding="utf-8"))


def test_stored_results_name_no_folder_of_the_machine_that_measured(committed: Results) -> None:
    """The stored results come without their evidence."""
    assert all("path" not in run.to_json() for run in committed.runs)


def test_every_scenario_has_results_and_a_table_on_a_page(committed: Results) -> None:
    """New advice needs a page, or a place on one."""
    shown = {name for page in PAGES for name in scenarios_of(markers(page.read_text(encoding="utf-8")))}
    assert shown == {cell.scenario for cell in committed.cells}
    assert {advice.name for advice in every_advice()} == shown, (
        "fix: a page in docs/ with <!-- versions: SCENARIO --> and <!-- end --> around its table, "
        "then .venv/bin/python -m tools.docs docs/results.json results/latest"
    )


def test_every_picture_is_shown_and_small() -> None:
    """A picture of more than 250 kB would make its page slow to load."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    shown = {name for text in texts for name in re.findall(r"pictures/([\w-]+\.(?:png|svg))", text)}
    drawn = {path.name: path.stat().st_size for path in PICTURES.glob("*")}
    assert shown == set(drawn)
    assert all(size <= MOST_PICTURE_BYTES for size in drawn.values()), drawn


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_drawing_has_a_description_and_dark_colours(path: Path) -> None:
    """Browsers load no other files for an image, so a drawing cannot have separate fonts or scripts."""
    text = path.read_text(encoding="utf-8")
    light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
    coloured = re.compile(r"^ +([.\w, ]+) \{ (?:fill|stroke): #", re.MULTILINE)
    assert coloured.findall(light) == coloured.findall(dark) != []
    assert all(re.search(f'<{name} id="{name}">[^<]+<', text) for name in ("title", "desc"))
    assert not re.search("<script|@import|@font-face|https?://(?!www.w3.org/2000/svg)", text)


def test_a_verdict_edited_by_hand_is_corrected(committed: Results) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    page, text = next((page, text) for page, text in texts.items() if "**refuted**" in text)
    better = text.replace("**refuted**", "**holds**", 1)
    assert better != text
    assert fill(better, committed, where=page.name) == text


def test_counts_are_reported_for_each_version_if_they_differ(tmp_path: Path) -> None:
    """Each arm of the scenario has a row if it has any of these figures."""
    old = a_cell(arms={"kept": {"failed": 6.0, "tries": 2}, "other": {"trials": 5}}, nginx="1.22")
    new = a_cell(arms={"kept": {"failed": 0.0, "tries": 2}}, nginx="1.30")
    second = a_cell("spares", arms={"spared": {"failed": 0}}, nginx="1.30")
    results = written(tmp_path / "run", new, old, second, a_cell("else", scenario="s", arms={"far": {"failed": 1}}))
    page = fill("<!-- counted: stall: failed, tries --><!-- end -->", results, where="page.md")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert rows == [
        "| variant | failed | tries |",
        "| --- | --- | --- |",
        "| kept | 6 (1.22); 0 (1.30) | 2 |",
        "| spared | 0 | - |",
    ]


@pytest.mark.parametrize(
    "marker",
    [
        "verdicts: missing",
        "effect: stall/missing",
        "figure: stall/missing",
        "figure: stall/stalls: 1.30",
        "arms: stall/stalls: missing_ms",
        "counted: stall: missing",
        "shares: stall/stalls: 1.30: a",
        "drawing: stall",
    ],
)
def test_a_marker_without_results_is_an_error(marker: str, results: Results) -> None:
    with pytest.raises(BadInputError, match=re.escape(marker)) as error:
        fill(f"<!-- {marker} --><!-- end -->", results, where="page.md")
    assert error.value.where == "page.md"


def test_a_common_reason_is_written_once(tmp_path: Path) -> None:
    cells = [
        a_cell(name, reason=f"too few agree; only {name}" if name == "rare" else "too few agree")
        for name in ("stalls", "rare")
    ]
    marker = "<!-- verdicts: stall --><!-- end -->"
    page = fill(marker, written(tmp_path / "one", *cells), where="page")
    assert "- all of these claims: too few agree.\n- `rare`: only rare.\n" in page
    page = fill(marker, written(tmp_path / "two", *cells, a_cell("right")), where="page")
    assert "- `stalls`, `rare`: too few agree.\n- `rare`: only rare.\n" in page


def test_a_condition_that_every_round_met_is_not_shown(tmp_path: Path) -> None:
    """A condition that some rounds did not meet explains the verdict."""
    cells = [a_cell(f"met{met}", reason=f"it was so in {met} of 9 rounds") for met in (8, 9)]
    page = fill("<!-- verdicts: stall --><!-- end -->", written(tmp_path, *cells), where="page")
    assert "- `met8`: it was so in 8 of 9 rounds.\n" in page
    assert "9 of 9" not in page


def test_successive_versions_with_the_same_verdict_are_shown_as_a_range(tmp_path: Path) -> None:
    verdicts = {"1.9": "holds", "1.18": "holds", "1.22": "refuted", "1.26": "holds"}
    several = [a_cell(nginx=version, verdict=verdict) for version, verdict in verdicts.items()]
    table = fill("<!-- versions: stall --><!-- end -->", written(tmp_path / "several", *several), where="page")
    assert "| 1.9–1.18 **holds**, 1.22 **refuted** (expected: holds), 1.26 **holds**: lag," in table  # noqa: RUF001


def test_an_a_a_control_is_folded_away_with_its_verdict(tmp_path: Path) -> None:
    sentence = "Two are the same (A/A control)"
    control = replace(a_cell("twins", verdict="inconclusive", reason="too few agree"), claim=sentence)
    page = fill("<!-- verdicts: stall --><!-- end -->", written(tmp_path / "run", a_cell(), control), where="page")
    table, _, fold = page.partition("<details")
    assert "twins" not in table
    assert "- A/A control `twins`: **inconclusive**: lag, loaded ÷ idle: 134× [98–180]." in fold  # noqa: RUF001


def test_an_interval_is_left_out_only_if_all_trials_agree_and_a_majority_decides(tmp_path: Path) -> None:
    effect = Effect(name="trials that pass", unit="share", value=1.0, ci_low=0.5, ci_high=1.0, count=5, of=5)
    cells = [
        a_cell("usual", effect=effect, threshold=0.5),
        a_cell("most", effect=replace(effect, count=4), threshold=0.5),
        a_cell("nearly_all", effect=effect, threshold=0.75),
    ]
    page = fill("<!-- verdicts: stall --><!-- end -->", written(tmp_path / "run", *cells), where="page")
    shown = [line.partition("**: ")[2].removesuffix(" |") for line in page.splitlines() if "`) | " in line]
    assert shown == ["5 of 5", "4 of 5 [50–100 %]", "5 of 5 [50–100 %]"]  # noqa: RUF001 - an en dash


def test_a_figure_is_two_arms_measurements_or_the_number_of_trials_that_pass(tmp_path: Path) -> None:
    """Without a version, all versions must agree: the sentence around the figure is about all of them."""
    counted = Effect(name="right", unit="share", value=0.0, ci_low=0.0, ci_high=0.5, count=0, of=5)
    arms = {"default": {"failed": 6.0}, "cured": {"failed": 0.0}}
    cells = [a_cell(arms=arms, figure="failed", nginx=version) for version in ("1.22", "1.30")]
    other = a_cell("moved", arms={**arms, "cured": {"failed": 6.0}}, figure="failed", nginx="1.30")
    older = a_cell("moved", arms=arms, figure="failed", nginx="1.22")
    results = written(tmp_path / "run", *cells, a_cell("counted", effect=counted), other, older)

    def shown(wanted: str) -> str:
        return (
            fill(f"<!-- figure: {wanted} --><!-- end -->", results, where="page")
            .split("-->")[1]
            .removesuffix("<!-- end ")
        )

    assert shown("stall/stalls") == "6 → 0"
    assert shown("stall/counted") == "0 of 5 trials"
    assert (shown("stall/moved: 1.22"), shown("stall/moved: 1.30")) == ("6 → 0", "6 → 6")
    with pytest.raises(BadInputError, match="2 different figures"):
        shown("stall/moved")


def test_an_effect_on_two_versions_is_an_error(tmp_path: Path) -> None:
    """The sentence would not show which version is meant."""
    results = written(tmp_path / "run", a_cell(), a_cell(nginx="1.30"))
    with pytest.raises(BadInputError, match="2 cells"):
        fill("It is <!-- effect: stall/stalls --><!-- end -->.", results, where="page.md")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- verdicts: a -->",
        "<!-- end -->",
        "<!-- verdicts: a --><!-- verdicts: b --><!-- end -->",
        "<!-- verdicts: a --><!-- end --><!-- end -->",
    ],
)
def test_markers_and_ends_that_do_not_form_pairs_are_an_error(text: str) -> None:
    """Otherwise, everything up to the next end would be replaced."""
    with pytest.raises(BadInputError, match="pairs"):
        rewrite(text, lambda _marker: "", where="page.md")


def test_other_comments_are_left_alone() -> None:
    text = "<!-- a note -->\n<!-- run: all -->x<!-- end -->\n"
    assert rewrite(text, lambda marker: marker.wanted, where="page.md") == text.replace("x", "all")
    assert list(markers(text)) == [Marker(kind="run", wanted="all")]


@pytest.mark.usefixtures("_registered")
def test_measurements_older_than_their_claim_are_left_out(tmp_path: Path) -> None:
    """The claim has changed since then. Measurements for removed claims are left out, too."""
    cells = (a_cell("stalls"), a_cell("moved"), a_cell("gone"))
    before = written(tmp_path / "before", *cells)
    after = written(tmp_path / "after", *cells, started=f"{MOVED}T00:00:01Z")
    assert [cell.name for cell in combined([before]).cells] == ["stalls"]
    assert [cell.name for cell in combined([after]).cells] == ["stalls", "moved"]


@pytest.mark.usefixtures("_registered")
def test_a_later_cell_replaces_an_earlier_one(tmp_path: Path) -> None:
    """One claim can be measured again without the others."""
    first = written(tmp_path / "first", a_cell("stalls"), a_cell("rare", verdict="refuted"))
    again = written(tmp_path / "again", a_cell("rare"))
    both = combined([first, again])
    assert {cell.name: cell.verdict for cell in both.cells} == {"stalls": "holds", "rare": "holds"}
    assert [run.cells for run in both.parts] == [(cell.id,) for cell in both.cells]
    # Merged results are separated again, and a run without any remaining cell is dropped.
    assert combined([both, again]).to_json()["cells"] == both.to_json()["cells"]
    assert len(combined([both, first]).parts) == 1
    assert combined([first]) == first


@pytest.mark.usefixtures("_registered")
def test_later_results_may_have_another_machine_and_seed(tmp_path: Path) -> None:
    first = written(tmp_path / "first", a_cell("stalls"))
    other = written(
        tmp_path / "other", a_cell("rare", scenario="drops"), seed=8, host={"kernel": "6.9"}, options={"depth": "full"}
    )
    both = load(_stored(tmp_path / "both.json", combined([first, other])))
    assert "(depth full, seed 8) on [machine B](" in fill("<!-- verdicts: drops --><!-- end -->", both, where="page")
    assert "- **B**: kernel 6.9\n" in fill("<!-- machines: all --><!-- end -->", both, where="page")
    summary = fill("<!-- run: all --><!-- end -->", both, where="page")
    assert "with nginx 1.22 on A processor and CPUs not recorded; each page names" in summary
    document = recorded(both, {})
    machines = [document["machines"][cell["versions"]["1.22"]["machine"]] for cell in document["cells"].values()]
    assert machines[0].startswith("A processor x 2")
    assert machines[1] == "kernel 6.9"


def _stored(path: Path, results: Results) -> Path:
    kept = replace(results, runs=tuple(replace(run, path="") for run in results.runs))
    path.write_text(json.dumps(kept.to_json()), encoding="utf-8")
    return path


def test_a_table_of_lines_without_results_is_an_error(results: Results) -> None:
    with pytest.raises(BadInputError, match="no result is about a line"):
        fill("<!-- lines: all --><!-- end -->", results, where="page")
    with pytest.raises(BadInputError, match="there is no scenario none"):
        fill("<!-- versions: none --><!-- end -->", results, where="page")
