"""The changes to a user's own nginx that a run prints at its end."""

from dataclasses import replace
from typing import Any

from tests.support.written_results import a_cell, ratio
from tuneproof.report.results.cells import Cell, Fine, Remedy
from tuneproof.report.terminal.own_nginx import gains_of, render_head, render_lab, render_own


def own(
    name: str, times: float, verdict: str = "holds", *, patch: str = "+ a\n", after: int = 4, **remedy: Any
) -> Cell:
    made = a_cell(
        name,
        verdict=verdict,
        expected=None,
        effect=ratio(times, times, times),
        arms={"yours": {"upstream_connects": 32}, "patched": {"upstream_connects": after}},
        remedy=Remedy(what="keep connections", patch=patch, at="a.conf:7", gains="connects", **remedy),
        figure="upstream_connects",
    )
    return replace(made, claim=f"claim {name}")


def judged(name: str, verdict: str, **more: Any) -> Cell:
    """Return a cell about the files as they are, without a change to them."""
    return replace(own(name, 1.0, verdict), remedy=None, **more)


def test_a_change_is_shown_once_with_its_place_its_figures_and_its_cost() -> None:
    """The largest gain comes first, with the file that applies it."""
    cells = [
        own("a", 2.0, place="/a", after=16, cost="memory"),
        own("b", 8.0, place="/b", cost="memory"),
        own("c", 4.0, patch="+ c\n"),
    ]
    assert render_own(cells).splitlines() == [
        "CHANGE",
        "1 a.conf:7  connects: 32 \u2192 4",
        "    at /b",
        "    at /a: 32 \u2192 16",
        "    cost: memory",
        "    to apply: 1.patch",
        "2 a.conf:7  connects: 32 \u2192 4",
        "    to apply: 2.patch",
    ]


def test_settings_of_the_machine_are_suggested_only_if_they_matter() -> None:
    """Such settings are listed under CONSIDER, and only if the problem that they solve was seen."""
    wider = own("w", 9.0, patch="x = 1\n", reaches_others=True, only_if="stalls")
    assert render_own([judged("stalls", "inconclusive"), wider]).startswith(
        "CHANGE\n  nothing: no measured change gains anything here"
    )
    assert gains_of([judged("stalls", "refuted"), wider]) == []
    cells = [wider, judged("stalls", "holds"), own("a", 2.0)]
    assert [(gain.number, gain.file) for gain in gains_of(cells)] == [(1, "1.patch"), (2, "2.sysctl.conf")]
    assert "\n\nCONSIDER\n2 a.conf:7" in render_own(cells)


def test_a_patch_that_helps_only_under_some_loads_is_listed_under_consider() -> None:
    bounded = own("w", 9.0, only_if="stalls")
    assert render_own([bounded, judged("stalls", "holds")]).partition("\n\n")[2].startswith("CONSIDER\n1 a.conf:7")
    assert [gain.file for gain in gains_of([bounded, judged("stalls", "holds")])] == ["1.patch"]
    # Without the problem, the patch is not an option, so its missing gain is not reported.
    assert "no gain in" not in render_own([own("w", 1.0, "refuted", only_if="stalls"), judged("stalls", "refuted")])


def test_settings_that_are_fine_and_changes_without_a_gain_are_reported() -> None:
    """The number of tested places is reported, too."""
    fine = Fine(what="connections are reused", verdict="refuted")
    cells = [
        judged("a", "refuted", fine=fine),
        judged("b", "holds", fine=fine),
        judged("c", "holds", fine=Fine(what="never shown", verdict="refuted")),
        own("d", 1.0, "refuted", after=32, place="/d"),
    ]
    assert render_own(cells).partition("ALREADY FINE\n")[2].splitlines() == [
        "  connections are reused (1 of 2 places)",
        "  no gain in: keep connections at /d; connects: 32 \u2192 32",
        "",
        "SEEN",
        "  claim b: holds, 1\u00d7 [1\u20131]",
        "  claim c: holds, 1\u00d7 [1\u20131]",
    ]


def test_a_problem_that_no_change_solves_is_still_reported() -> None:
    """For example, a run of a single claim measures no change."""
    problem = judged("a", "holds", fine=Fine(what="connections are reused", verdict="refuted"))
    assert render_own([problem]) == (
        "CHANGE\n  nothing: no change was measured\n\nSEEN\n  claim a: holds, 1\u00d7 [1\u20131]"
    )
    assert "SEEN\n  claim a: holds" in render_own([problem, own("b", 2.0)])


def test_a_problem_that_a_change_solves_is_reported_only_with_the_change() -> None:
    reused = Fine(what="connections are reused", verdict="refuted")
    cells = [judged("a_connects_every_time", "holds", fine=reused), judged("stalls", "holds", fine=reused)]
    changes = [own("a_patch_keeps_connections", 2.0), own("c", 2.0, patch="+ c\n", only_if="stalls")]
    assert "SEEN" not in render_own([*cells, *changes])
    assert "SEEN\n  claim a_connects_every_time: holds" in render_own([*cells, own("b_patch_keeps_connections", 2.0)])


def test_the_reason_for_undecided_and_untested_claims_is_reported_once() -> None:
    """One reason may concern many claims. The reason of a decided claim is a note about its figures."""
    cells = [
        judged("a", "unsupported", reason="no path"),
        judged("b", "unsupported", reason="no path"),
        judged("c", "inconclusive", reason=""),
        judged("d", "holds", reason="22 of 32 requests were refused"),
    ]
    assert render_own(cells, left_out=["a.conf:9: gRPC"]).split("\n\n")[1:] == [
        "NOTE\n  22 of 32 requests were refused",
        "NOT DECIDED\n  2 checks: no path\n  claim c\n  rerun the inconclusive ones: --depth full -k 'c'",
        "NOT TESTED\n  a.conf:9: gRPC",
    ]


def test_the_first_lines_name_the_configuration_the_version_and_the_noise() -> None:
    """Another line names what was added for the lab: the first three, and the number of others."""
    noise = {"lost_p50_pct": 1.0, "lost_max_pct": 20.0}
    head = render_head("n.conf", ["the oldest"], [judged("a", "holds", host_noise=noise)], seconds=75.4)
    version = a_cell().nginx
    assert head.splitlines() == [
        f"n.conf, tested on nginx {version} (the oldest)",
        "1 check in 1:15; CPU lost to neighbours: 1 % median, 20 % max",
    ]
    assert render_lab(["a", "b", "c", "d"]) == "Added for the lab: a; b; c; 1 more in the report"
    assert render_lab([]) == "Added for the lab: nothing"
