"""The shaped links of a lab: the calls to each agent, and the settings that the lab remembers."""

import pytest

from tests.support.fake_netadmin import FakeLab
from tuneproof.errors import LabError
from tuneproof.lab.network.agent import owner_name
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.network.profiles import BARE, PROFILES
from tuneproof.lab.network.shaped_links import PROBE_PORT, ProbePlan, ShapedLinks, owner_specs
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.lab.protocol.links import ProbePath
from tuneproof.lab.topology.roles import Role

LOSES, NEAR = Impairment(loss_pct=1), Impairment(delay_ms=1)  # only a lossy link needs single packets


def of_a_client(**ways: Impairment) -> NetworkProfile:
    return NetworkProfile(name="own", summary="Own.", client=LinkProfile(**ways))


def links(lab: FakeLab, *roles: str) -> ShapedLinks:
    return ShapedLinks(lab.lab, shaper="wire", roles=roles or ("client", "backend"))


@pytest.mark.parametrize(
    ("shaper", "command", "devices"), [("wire", "wire", ("/dev/net/tun",)), ("native", "look", ())]
)
def test_a_netadmin_container_takes_its_roles_place_in_the_network(
    shaper: str, command: str, devices: tuple[str, ...]
) -> None:
    """Only a wire needs the device and the memory."""
    client, backend = owner_specs(shaper=shaper, image="netadmin:1", cpuset="1")
    names = (client.name, client.aliases, client.role, client.image)
    assert names == (owner_name("client"), (owner_name("client"), "client"), Role.NETADMIN, "netadmin:1")
    assert (client.cpuset, client.starts_on_all_cpus) == ("1", shaper == "wire")
    assert (backend.name, backend.aliases) == ("netadmin-backend", ("netadmin-backend", "backend"))
    assert client.command == ("python3", "-m", "netadmin", command)
    assert (client.devices, bool(client.memory_folders)) == (devices, bool(devices))
    assert client.answers


def test_a_wire_that_did_not_start_is_an_error_at_once() -> None:
    lab = FakeLab()
    lab.programs["backend"].errors = {"greet": "no file system is mounted at /wire"}
    with pytest.raises(LabError, match="no file system is mounted"):
        links(lab)


def test_existing_settings_are_not_set_again() -> None:
    """Shaping takes time and empties queues, and is not needed between two variants with the same network."""
    lab = FakeLab()
    shaped = links(lab)
    shaped.apply(PROFILES["wan"], subject="subject")
    assert lab.asked() == {"client": ["shape"], "backend": ["shape"], "subject": ["switch_segmentation"]}
    assert lab.programs["client"].link.egress.delay_ms == 20
    shaped.apply(PROFILES["wan"], subject="subject")
    assert lab.asked() == {"subject": ["switch_segmentation"]}
    shaped.apply(PROFILES["slow-client"], subject="subject")
    assert lab.asked() == {"client": ["shape"], "subject": ["switch_segmentation"]}
    assert lab.programs["client"].link.egress.rate_mbit == 2
    shaped.apply(BARE, subject="subject")
    assert lab.asked() == {"client": ["shape"], "subject": ["switch_segmentation"]}
    assert not lab.programs["client"].link.shapes


def test_after_a_failure_or_a_restart_a_link_is_shaped_again() -> None:
    """After a failure, the kernel's settings are unknown; a restarted wire has none."""
    lab = FakeLab()
    shaped = links(lab)
    shaped.apply(PROFILES["wan"], subject="subject")
    lab.programs["client"].errors["shape"] = "the kernel has something else"
    with pytest.raises(LabError, match="the kernel has something else"):
        shaped.apply(PROFILES["lossy"], subject="subject")
    lab.programs["client"].errors.clear()
    for _ in range(2):
        lab.asked()
        shaped.apply(PROFILES["wan"], subject="subject")
        assert lab.asked() == {"client": ["shape"], "subject": ["switch_segmentation"]}
        shaped.revive("client")


@pytest.mark.parametrize(
    ("wanted", "on"),
    [
        (PROFILES["slow-backend"], False),
        (of_a_client(egress=NEAR, ingress=NEAR), True),
        (of_a_client(egress=LOSES, ingress=NEAR), True),
        (of_a_client(egress=NEAR, ingress=LOSES), False),
    ],
    ids=["backend", "super-frames", "only-towards-the-subject", "only-from-the-subject"],
)
def test_the_subject_sends_single_packets_if_some_link_needs_them(wanted: NetworkProfile, *, on: bool) -> None:
    """The subject sends what a role receives. What a role sends depends on its own agent."""
    lab = FakeLab()
    links(lab).apply(wanted, subject="subject")
    assert lab.programs["subject"].of("switch_segmentation") == [{"on": on}]


PLAN = ProbePlan(packets=50, interval_s=0.002, payload_bytes=64, load_s=0.6)


def test_a_link_is_probed_from_its_role_to_the_subject() -> None:
    """The subject's agent answers. Late probes may take 0.1 s more than the link's longest delays."""
    lab = FakeLab()
    shaped = links(lab)
    profile = PROFILES["jittery"].client
    shaped.apply(PROFILES["jittery"], subject="subject")
    figures = shaped.measure("client", profile, subject="subject", plan=PLAN)
    assert lab.programs["subject"].of("answer_probes") == [{"port": PROBE_PORT}]
    (given,) = lab.programs["client"].of("probe_path")
    probes = from_plain(ProbePath, given["asked"])
    assert (probes.address, probes.port, probes.packets) == ("172.18.0.2", PROBE_PORT, 50)
    assert (probes.interval_s, probes.payload_bytes) == (0.002, 64)
    assert probes.linger_s == pytest.approx(0.1 + 0.05)
    assert figures.egress.packets == 50
    assert figures.frame_bytes == 106
    assert 30 < figures.rtt_p50_ms < 50
    assert len(figures.late_ms) == 50


@pytest.mark.parametrize(
    ("profile", "streams"),
    [
        (LinkProfile(ingress=Impairment(loss_pct=1, rate_mbit=10)), {"ingress": False}),
        (LinkProfile.both(Impairment(delay_ms=10)), {}),
        (
            LinkProfile(egress=Impairment(delay_ms=5, rate_mbit=2), ingress=Impairment(rate_mbit=1000)),
            {"egress": False, "ingress": True},
        ),
    ],
    ids=["lossy", "no-rate", "both-ways"],
)
def test_directions_with_a_rate_get_a_suitable_load(profile: LinkProfile, streams: dict[str, bool]) -> None:
    lab = FakeLab()
    links(lab).measure("client", profile, subject="subject", plan=PLAN)
    (given,) = lab.programs["client"].of("probe_path")
    probes = from_plain(ProbePath, given["asked"])
    assert {name: load.stream for name, load in probes.loads.items()} == streams
    for name, load in probes.loads.items():
        assert load.rate_bytes_per_s == (profile.directions[name].rate_mbit or 0) * 125_000
        assert load.seconds == PLAN.load_s


def test_the_clock_difference_of_another_machine_is_subtracted_in_each_direction() -> None:
    lab = FakeLab()
    shaped = links(lab)
    shaped.apply(PROFILES["jittery"], subject="subject")
    together = shaped.measure("client", PROFILES["jittery"].client, subject="subject", plan=PLAN)
    lab.away = {"netadmin-client"}
    lab.programs["client"].ahead_us = 7_000_000_000
    lab.asked()
    figures = shaped.measure("client", PROFILES["jittery"].client, subject="subject", plan=PLAN)
    assert lab.asked()["client"] == ["shape", "probe_path", "shape", "probe_path"]
    for way in ("egress", "ingress"):
        assert figures.directions[way].delays_ms == pytest.approx(together.directions[way].delays_ms, abs=0.1)
    assert figures.rtt_p50_ms == together.rtt_p50_ms
