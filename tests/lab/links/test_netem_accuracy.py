"""A shaped link matches its profile, and a link with another profile is detected."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from fixtures.options import RunState
from tests.support.path_lab import PEER, SELF_CHECK
from tests.support.probe_capture import Arrivals, corruption_faults
from tuneproof.lab.load.stage import Programs
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.link_faults import faults, link_records
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.network.path import LinkFigures
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.network.settling import lowering_lines, settle
from tuneproof.lab.network.shaped_links import PROBE_PORT, ProbePlan, ShapedLinks
from tuneproof.report.results.run_file import ResultsWriter

pytestmark = [pytest.mark.engine, pytest.mark.timing]

# 5000 probes measure a share of 1 % within half a percentage point in all but 4 of 10,000 cases. The load measures the
# rate.
PLAN = ProbePlan(packets=5000, interval_s=0.001, payload_bytes=64, load_s=1.0)
SHAPED = tuple(profile for profile in PROFILES.values() if profile.shapes)


@pytest.fixture
def links(path_lab: Callable[[str], ShapedLinks], shaper: Callable[[], str]) -> ShapedLinks:
    """Return the links of a lab with this run's shaper."""
    return path_lab(shaper())


# Only this profile has duplicates, reordering and wrong bits. The other profiles consist of delays, losses and rates;
# the test of wrong links measures these, too, and so does every run on a shaped link before its first trial.
QUICK = frozenset({"unruly"})


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(profile, id=profile.name, marks=() if profile.name in QUICK else pytest.mark.slow)
        for profile in SHAPED
    ],
)
def test_a_link_matches_every_named_profile(
    links: ShapedLinks, profile: NetworkProfile, run_state: RunState, results: ResultsWriter
) -> None:
    """Probes measure round trip, jitter, loss, duplicates, reordering and rate; a capture shows wrong bits.

    The test is skipped if the host does not carry the profile's rate without the shaper either.
    """
    records: list[dict[str, Any]] = []
    found: list[str] = []
    for role, link in profile.links.items():
        if not link.shapes:
            continue
        captured: dict[str, Arrivals] = {}
        # Most of a large frame is padding, in which a wrong bit is visible.
        corrupts = any(way.corrupt_pct for way in link.directions.values())
        plan = replace(PLAN, payload_bytes=1000) if corrupts else PLAN

        def measure(
            wanted: LinkProfile,
            role: str = role,
            captured: dict[str, Arrivals] = captured,
            plan: ProbePlan = plan,
        ) -> LinkFigures:
            both = {**profile.links, role: wanted}
            links.apply(replace(profile, client=both["client"], backend=both["backend"]), subject=PEER)
            figures, counts = measure_with_capture(links, role, wanted, plan=plan)
            captured.update(counts)
            return figures

        settled = settle(link, measure, SELF_CHECK)
        figures = settled.figures
        if settled.wrong and (limit := carried_unshaped(links, role, link)):
            pytest.skip(f"{profile.name}: {limit}, so a limit would have no visible effect")
        found += settled.wrong
        for line in lowering_lines(role, link, settled.profile):
            run_state.progress.line(f"{profile.name}: {line}")
        found += corruption_faults(link, captured, error_probability=SELF_CHECK.error_probability)
        for record in link_records(
            settled.profile,
            figures,
            SELF_CHECK,
            network=profile.name,
            link=role,
            shaper=links.shaper,
            requested=link,
        ):
            seen = captured[record["direction"]]
            record["measured"]["corrupt_pct"] = 100 * seen.corrupted / (seen.arrived * seen.padded_share)
            records.append(record)
    folder = results.evidence_folder(f"netem_accuracy/{profile.name}")
    (folder / "links.json").write_text(f"{json.dumps(records, indent=2)}\n", encoding="utf-8")
    for line in comparison_lines(records):
        run_state.progress.line(line)
    assert not found, f"{profile.name}: {'; '.join(found)}"


WRONG = {
    "5-ms-for-8": (Impairment(delay_ms=5), Impairment(delay_ms=8), "5 % of the delays are below"),
    "8-ms-for-5": (Impairment(delay_ms=8), Impairment(delay_ms=5), "5 % of the delays are below"),
    "jitter-for-none": (
        Impairment(delay_ms=8, jitter_ms=3),
        Impairment(delay_ms=8),
        "5 % of the delays are below",
    ),
    "2-percent-for-6": (Impairment(delay_ms=5, loss_pct=2), Impairment(delay_ms=5, loss_pct=6), "probes lost"),
    "6-percent-for-2": (Impairment(delay_ms=5, loss_pct=6), Impairment(delay_ms=5, loss_pct=2), "probes lost"),
    "50-mbit-for-100": (Impairment(rate_mbit=50), Impairment(rate_mbit=100), "rate "),
    "100-mbit-for-50": (Impairment(rate_mbit=100), Impairment(rate_mbit=50), "rate "),
}


# A few probes show delays and rates that are this wrong. FOR_SHARES has so many that 2 % and 6 % are seven standard
# deviations apart.
FEW: Final = replace(PLAN, packets=500)
FOR_SHARES: Final = replace(PLAN, packets=2500)
# These are other cases with the two values exchanged.
MIRRORED = {"8-ms-for-5", "6-percent-for-2", "100-mbit-for-50"}


@pytest.mark.parametrize(
    ("done", "wanted", "fault"),
    [pytest.param(*case, id=name, marks=pytest.mark.slow if name in MIRRORED else ()) for name, case in WRONG.items()],
)
def test_a_link_with_a_different_profile_is_detected(
    links: ShapedLinks, done: Impairment, wanted: Impairment, fault: str
) -> None:
    link = LinkProfile.both(done)
    links.apply(NetworkProfile(name="wrong", summary="Not what is wanted.", client=link), subject=PEER)
    figures = links.measure("client", link, subject=PEER, plan=FOR_SHARES if wanted.loss_pct else FEW)
    found = [str(found) for found in faults(LinkProfile.both(wanted), figures, SELF_CHECK)]
    assert [way for way in figures.directions if any(fault in text for text in found if text.startswith(way))] == [
        *figures.directions
    ], found


def carried_unshaped(links: ShapedLinks, role: str, requested: LinkProfile) -> str:
    """Return a sentence with the rate that the host carries on an unlimited link, if it is too low; otherwise ""."""
    links.apply(NetworkProfile(name="unshaped", summary="As the host has it."), subject=PEER)
    figures = links.measure(role, requested, subject=PEER, plan=PLAN)
    short = [
        f"{name} {way.rate_mbit:.3g} of {wanted:g} Mbit/s"
        for name, way in figures.directions.items()
        if way.rate_mbit is not None and (wanted := requested.directions[name].rate_mbit) and way.rate_mbit < wanted
    ]
    return f"without a limit the host carries only {', '.join(short)} now" if short else ""


def measure_with_capture(
    links: ShapedLinks, role: str, profile: LinkProfile, *, plan: ProbePlan
) -> tuple[LinkFigures, dict[str, Arrivals]]:
    """Measure a link while both of its ends capture the probes that arrive."""
    arriving = {"egress": (PEER, "dst"), "ingress": (role, "src")}
    for name, end in arriving.values():
        links.agent(name).start_capture(f"udp {end} port {PROBE_PORT}", 2048)
    figures = links.measure(role, profile, subject=PEER, plan=plan)
    programs = Programs(links._lab, prober=False)
    captures = {way: programs.stop_capture(name) for way, (name, _) in arriving.items()}
    return figures, {name: Arrivals.of(capture, payload_bytes=plan.payload_bytes) for name, capture in captures.items()}


def comparison_lines(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per direction, with the set and the measured values."""
    lines = []
    for record in records:
        wanted, measured = record["set"], record["measured"]
        figures = [f"p5 of the delays {wanted['delay_p5_ms']:.4g} -> {measured['delay_p5_ms']:.2f} ms"]
        figures.append(f"host late by {measured['host_late_p50_ms']:.2f} ms, p95 {measured['host_late_p95_ms']:.2f} ms")
        figures += [
            f"{name.removesuffix('_pct')} {wanted[name]:g} -> {measured[name]:.2f} %"
            for name in ("loss_pct", "duplicate_pct", "reorder_pct", "corrupt_pct")
            if wanted[name]
        ]
        if wanted["rate_mbit"]:
            figures.append(f"rate {wanted['rate_mbit']:g} -> {measured['rate_mbit']:.4g} Mbit/s")
        place = f"{record['network']}: {record['link']} {record['direction']} ({record['shaper']})"
        lines.append(f"{place}: {', '.join(figures)}")
    return lines
