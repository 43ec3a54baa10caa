"""The links in a scenario's lab are measured before a claim, set for each trial, and checked after it."""

import pytest

from tests.support.fake_netadmin import FakeLab
from tests.support.inner_pytest import cell
from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.lab.network import settling
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.network.profiles import BARE, PROFILES
from tuneproof.lab.network.shaped_links import ShapedLinks
from tuneproof.proof.scenario.lab_links import LabLinks, LinkLostError
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.report.results.cells import Cell

# The client has the same link as in the network wan; the backend has another one.
FAR_BOTH = NetworkProfile(
    name="far-both",
    summary="Both are far.",
    client=PROFILES["wan"].client,
    backend=LinkProfile.both(Impairment(delay_ms=3)),
)

LINKS = ("client", "backend")
FAST = NetworkProfile(name="fast", summary="As fast as it may be.", backend=LinkProfile.both(Impairment(rate_mbit=500)))


def lab_links(lab: FakeLab, *, default: NetworkProfile = BARE) -> LabLinks:
    roles = tuple(name for name in lab.programs if name != "subject")
    return LabLinks(ShapedLinks(lab.lab, shaper="wire", roles=roles), default=default)


def probed(lab: FakeLab) -> dict[str, int]:
    """Return the number of measurements of each role's link."""
    return {name: len(program.of("probe_path")) for name, program in lab.programs.items() if name != "subject"}


def test_a_link_of_several_networks_is_measured_once() -> None:
    """Arms share networks, and networks share links; a later check measures only new links."""
    lab = FakeLab()
    links = lab_links(lab, default=PROFILES["wan"])
    links.check([None, PROFILES["wan"], FAR_BOTH, BARE, None], subject="subject")
    assert probed(lab) == {"client": 1, "backend": 1}
    # One link is shaped at a time: otherwise, the single packets that a slow link needs would slow down a fast one.
    asked = {
        name: [asked["wanted"]["egress"]["delay_us"] for asked in lab.programs[name].of("shape")] for name in LINKS
    }
    assert asked == {"client": [20_000, 0], "backend": [0, 3000]}
    links.check([PROFILES["wan"], PROFILES["lossy"]], subject="subject")
    assert probed(lab) == {"client": 2, "backend": 1}


def test_a_link_that_differs_from_its_settings_is_a_failed_precondition() -> None:
    """The message contains the figures; the claims are not testable here, and nothing is recorded."""
    lab = FakeLab()
    lab.programs["client"].obeys = False
    links = lab_links(lab)
    with pytest.raises(PreconditionError) as caught:
        links.check([PROFILES["lossy"]], subject="subject")
    assert isinstance(caught.value, CannotRunHereError)
    assert caught.value.what.startswith(
        "the client's link does not match network lossy: egress: 5 % of the delays are below 0.05 ms"
    )
    assert probed(lab)["client"] == 1, "a busy host cannot shorten delays, so the link is not measured again"
    assert links.records([PROFILES["lossy"]]) == ()


def test_a_link_that_passes_nothing_at_first_gets_a_new_wire_and_is_measured_again() -> None:
    """This happens before any trial; the second wire's values are recorded."""
    lab = FakeLab()
    lab.programs["client"].hangs = 1
    links = lab_links(lab)
    links.check([PROFILES["wan"]], subject="subject")
    assert lab.asked()["client"] == ["shape", "probe_path", "wire_log", "revive", "shape", "probe_path"]
    assert links.records([PROFILES["wan"]])[0]["measured"]["loss_pct"] == 0


def test_a_link_that_passes_nothing_twice_is_an_error_and_not_a_property_of_the_host() -> None:
    """The error contains the end of the wire's log, which may show the reason."""
    lab = FakeLab()
    lab.programs["client"].hangs = 2
    with pytest.raises(LabError, match="no packets pass the client's link: none of 400 probes came back") as caught:
        lab_links(lab).check([PROFILES["wan"]], subject="subject")
    assert caught.value.tail == "Kernel panic"


def test_a_claim_gets_the_records_of_the_networks_that_it_uses() -> None:
    """A cell contains each link once, with both directions."""
    lab = FakeLab()
    links = lab_links(lab, default=PROFILES["wan"])
    links.check([None, FAR_BOTH, PROFILES["lossy"]], subject="subject")
    records = links.records([None, FAR_BOTH])
    assert links.notes([None, FAR_BOTH]) == [], "nothing was lowered"
    assert [(record["link"], record["direction"], record["set"]["delay_ms"]) for record in records] == [
        ("client", "egress", 20),
        ("client", "ingress", 20),
        ("backend", "egress", 3),
        ("backend", "ingress", 3),
    ]
    assert {record["shaper"] for record in records} == {"wire"}
    assert len(cell(links=records).links) == 4
    assert [record["set"]["loss_pct"] for record in links.records([PROFILES["lossy"]])] == [2, 2]
    links.apply(None, subject="subject")
    assert lab.programs["client"].link.egress.delay_ms == 20, "an arm without a network gets the default network"


def test_a_lost_shaper_is_restarted_and_the_trial_does_not_count() -> None:
    lab = FakeLab()
    links = lab_links(lab)
    for role in LINKS:
        lab.programs[role].alive = False
    with pytest.raises(LinkLostError) as caught:
        links.check_alive()
    assert caught.value.what == "the user-mode shaper of client and backend ended during the trial"
    links.check_alive()
    assert lab.asked() == {role: ["status", "revive", "status"] for role in LINKS}


def test_a_wire_that_cannot_be_started_again_ends_the_measurement() -> None:
    """The next trial would be lost, too."""
    lab = FakeLab()
    lab.programs["client"].alive = False
    lab.programs["client"].errors["revive"] = "no memory"
    with pytest.raises(LabError, match="no memory") as caught:
        lab_links(lab).check_alive()
    assert not isinstance(caught.value, LinkLostError)
    assert caught.value.tail == "Kernel panic"


def test_a_trial_that_failed_over_a_shaped_link_does_not_count_and_its_wire_is_started_again() -> None:
    """A user-mode kernel that hangs is still a running process. A link without shaping is left alone."""
    lab = FakeLab()
    links = lab_links(lab)
    with pytest.raises(LinkLostError) as caught:
        links.give_up_on(PROFILES["wan"], LabError("no answer"))
    assert caught.value.what == "a trial over the shaped link of client failed: no answer"
    assert lab.asked() == {"client": ["revive"]}


def test_a_trial_that_failed_over_unshaped_links_counts_as_failed() -> None:
    """No link can be the reason, so no wire is restarted, and the caller's error remains."""
    lab = FakeLab()
    lab_links(lab).give_up_on(BARE, LabError("no answer"))
    assert lab.asked() == {}


def test_only_existing_wires_have_logs() -> None:
    """A role without shaping has no wire."""
    assert lab_links(FakeLab()).logs() == {"client": "Kernel panic", "backend": "Kernel panic"}
    assert lab_links(FakeLab(roles=("client",))).logs() == {"client": "Kernel panic"}


def test_a_rate_that_the_host_does_not_carry_is_lowered_for_every_arm_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Arms with the same link get the same rate. Other links are left alone; the records name the requested rate."""
    monkeypatch.setattr(settling, "_PAUSE_S", 0.0)
    lab = FakeLab()
    lab.programs["backend"].carries_mbit = 400
    links = lab_links(lab)
    slower = NetworkProfile(name="slower", summary="Slower.", backend=LinkProfile.both(Impairment(rate_mbit=300)))
    both = NetworkProfile(name="both", summary="Both.", client=PROFILES["wan"].client, backend=FAST.backend)
    links.check([FAST, slower, both], subject="subject")
    assert probed(lab) == {"client": 1, "backend": 5}, "three times as requested, once lowered, once the slower one"
    for network, rate_mbit in ((FAST, 280), (slower, 300), (both, 280)):
        links.apply(network, subject="subject")
        assert [way.rate_mbit for way in lab.programs["backend"].link.directions.values()] == [rate_mbit] * 2
    assert links.notes([slower]) == []
    assert links.notes([FAST, slower]) == [
        f"the backend's link, {name}: 280 Mbit/s are set, since the host does not carry the 500 that were requested"
        for name in ("egress", "ingress")
    ]
    records = links.records([FAST])
    assert [(record["asked"], record["set"]["rate_mbit"]) for record in records] == [({"rate_mbit": 500}, 280)] * 2
    assert not any("asked" in record for record in links.records([slower]))
    made = cell(links=records)
    assert Cell.from_json(made.to_json()) == made
