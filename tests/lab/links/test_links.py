"""A shaped link matches its profile, or nothing is measured over it; it survives a restart of its container."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from fixtures.labs import Measure
from images.netadmin.netadmin.wire import REGISTERS_LIBRARY
from tests.lab.links.wire_processes import end_wires
from tests.support.path_lab import PEER, path_lab_specs
from tuneproof.catalogue.reuseport_stall import SCENARIO, TCP_RMEM, ReuseportStall
from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.base import Outcome
from tuneproof.lab.network.agent import owner_name, shape
from tuneproof.lab.network.impairments import FULL_FRAME_BYTES, MAX_QUEUE_PACKETS, Impairment
from tuneproof.lab.network.link_faults import PRECONDITION
from tuneproof.lab.network.links import NATIVE, WIRE, LinkProfile, NetworkProfile
from tuneproof.lab.network.path import LinkFigures
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.network.settling import settle
from tuneproof.lab.network.shaped_links import QUICK_PROBES, ShapedLinks
from tuneproof.lab.network.shaper import choose_shaper, why_impossible
from tuneproof.lab.protocol.observer import Snapshot
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import RoleSpec
from tuneproof.proof.inference.plan import FEWEST_BLOCKS
from tuneproof.proof.scenario.bench import Bench
from tuneproof.report.results.keys import Key

pytestmark = [pytest.mark.engine, pytest.mark.timing]

WAN = PROFILES["wan"]


@pytest.fixture
def links(path_lab: Callable[[str], ShapedLinks], wire: str) -> ShapedLinks:
    return path_lab(wire)


@pytest.fixture
def lab(links: ShapedLinks) -> Lab:
    return links._lab


def specs_of(images: BuiltImages, shaper: str) -> list[RoleSpec]:
    return path_lab_specs(
        shaper=shaper,
        netadmin_image=images.roles["netadmin"],
        client_image=images.roles["client"],
        peer_cpuset="0",
        others_cpuset="1",
    )


def wire_owner(images: BuiltImages, *, init: str) -> RoleSpec:
    """Return the container of the client's wire, with a program from inside_wire in place of the wire's init."""
    owner = specs_of(images, WIRE)[0]
    assert owner.name == owner_name("client")
    program = Path(__file__).with_name("inside_wire") / f"{init}.py"
    return replace(owner, files={"/opt/netadmin/wire_init.py": program.read_bytes()})


def kernels(lab: Lab, role: str) -> list[int]:
    """Return the process ids of the kernel of a role's wire."""
    return [one.pid for one in lab[owner_name(role)].processes() if one.command.startswith("linux.uml")]


def free_memory_bytes(links: ShapedLinks) -> int:
    """Return the free memory of the client's wire, after two more reports in its log."""
    before = len(re.findall(r"free (\d+) kB", links.log("client")))
    deadline_s = time.monotonic() + 60
    while len(said := re.findall(r"free (\d+) kB", links.log("client"))) < before + 2:
        assert time.monotonic() < deadline_s, links.log("client")
        time.sleep(0.1)
    return int(said[-1]) * 1024


@pytest.fixture
def wire(impossible_shapers: Callable[[], Mapping[str, str]]) -> str:
    """Return the shaper "wire" if the host can run one."""
    if reason := impossible_shapers()[WIRE]:
        pytest.skip(f"no wire can start on this host: {reason}")
    return WIRE


def assert_matches(links: ShapedLinks, network: NetworkProfile) -> None:
    """Check that the client's link matches a network profile that has been applied."""

    def measure(profile: LinkProfile) -> LinkFigures:
        # Nothing here changes the link, so settle must not ask for another profile.
        assert profile == network.client, "the host does not carry the rate of a slow link"
        return links.measure("client", profile, subject=PEER, plan=QUICK_PROBES)

    assert settle(network.client, measure, PRECONDITION).wrong == (), network.name


def interface(lab: Lab, container: str) -> tuple[str, str, str]:
    """Return the MAC address, IPv4 routes and addresses in a container's namespace."""
    read = lab[container].run
    return (
        read(["cat", "/sys/class/net/eth0/address"]).decode().strip(),
        read(["cat", "/proc/net/route"]).decode(),
        read(["cat", "/proc/net/fib_trie"]).decode(),
    )


def test_a_wire_does_not_use_the_subjects_cpu_once_it_is_up(lab: Lab, place_cpus: PlaceCpus) -> None:
    """A wire's kernel starts on all CPUs; once up, every process of its container is on the other roles' CPUs."""
    allowed = lab[owner_name("client")].run(["sh", "-c", "grep -h Cpus_allowed_list /proc/[0-9]*/status | sort -u"])
    assert allowed.decode().split() == ["Cpus_allowed_list:", place_cpus(()).others]


def test_a_wire_keeps_the_mac_address_the_ip_address_and_the_routes(lab: Lab, links: ShapedLinks) -> None:
    links.apply(PROFILES["bare"], subject=PEER)
    before = interface(lab, "client")
    links.apply(WAN, subject=PEER)
    assert interface(lab, "client") == before
    assert lab["client"].run(["cat", "/sys/class/net/eth0/tun_flags"])
    links.apply(PROFILES["bare"], subject=PEER)
    assert interface(lab, "client") == before
    with pytest.raises(LabError):
        lab["client"].run(["cat", "/sys/class/net/eth0/tun_flags"])


def test_a_profile_can_change_without_a_new_lab_and_leaves_nothing_behind(links: ShapedLinks) -> None:
    for name in ("slow-client", "wan", "bare"):
        profile = PROFILES[name]
        links.apply(profile, subject=PEER)
        assert_matches(links, profile)


def test_a_wire_survives_a_restart_of_its_role(engine: docker.DockerClient, lab: Lab, links: ShapedLinks) -> None:
    """The namespace belongs to the netadmin container: after the restart, the role has the same shaped link."""
    links.apply(WAN, subject=PEER)
    before = interface(lab, "client"), kernels(lab, "client")
    assert kernels(lab, "client")
    engine.containers.get(lab["client"].id).restart(timeout=0)
    assert (interface(lab, "client"), kernels(lab, "client")) == before
    assert_matches(links, WAN)


def test_native_shaping_works_with_netem_in_the_kernel(lab_session: Session, images: BuiltImages, wire: str) -> None:
    """The test uses a user-mode kernel, since the host's kernel may lack netem."""
    profiles = [
        # No setting loses frames, because the test times some frames.
        LinkProfile.both(Impairment(delay_ms=2, duplicate_pct=1, rate_mbit=10)),
        LinkProfile(egress=Impairment(delay_ms=5, rate_mbit=80), ingress=Impairment(delay_ms=9)),
        LinkProfile.both(Impairment(delay_ms=3)),
    ]
    wanted = [{name: way.to_netem() for name, way in profile.directions.items()} for profile in profiles]
    assert wire
    owner = wire_owner(images, init="native")
    boot = (
        f"TMPDIR=/wire HOME=/wire LD_PRELOAD={REGISTERS_LIBRARY} linux.uml "
        "mem=256M root=/dev/root rootfstype=hostfs rootflags=/ ro panic=-1 "
        'init=/usr/bin/python3 con0=null,fd:1 con=null ssl=null -- -B /opt/netadmin/wire_init.py "$@" 2>&1 </dev/null'
    )
    with Lab(lab_session) as alone:
        alone.start([replace(owner, command=("sleep", "inf"))])
        words = [json.dumps(item).encode().hex() for item in wanted]
        printed = alone[owner.name].run(["sh", "-c", f"{boot}; true", "sh", *words]).decode(errors="replace")
    answers = [json.loads(line) for line in printed.splitlines() if line.startswith('{"')]
    assert [answer["impossible"] for answer in answers] == [""] * len(wanted), printed
    for answer, ways in zip(answers, wanted, strict=True):
        # netem stores a share as a 32-bit number.
        assert answer["read_back"] == {name: pytest.approx(way, abs=1e-6) for name, way in ways.items()}
    for direction, way in profiles[1].directions.items():
        assert way.delay_ms <= answers[1]["times_ms"][direction] <= way.delay_ms + 1.0


@pytest.mark.slow  # The result depends only on the constants of impairments.py and the kernel of the wire.
def test_a_wire_has_memory_left_with_both_queues_full(lab_session: Session, images: BuiltImages, wire: str) -> None:
    """A wire needs free memory: without memory for a single frame, its driver stops passing frames."""
    logging_owner = wire_owner(images, init="memory")
    specs = [logging_owner if spec.name == logging_owner.name else spec for spec in specs_of(images, wire)]
    with Lab(lab_session) as lab:
        lab.start(specs)
        links = ShapedLinks(lab, shaper=WIRE)
        # Without permanent ARP entries, the ARP reply would be so late that the kernel drops the waiting frames.
        links.fix_neighbours([PEER])
        links.apply(PROFILES["bare"], subject=PEER)
        free_before_bytes = free_memory_bytes(links)
        full = LinkProfile.both(Impairment(delay_ms=10_000, limit_packets=MAX_QUEUE_PACKETS))
        links.apply(NetworkProfile(name="full", summary="Holds all that it can.", client=full), subject=PEER)
        # The pauses are long enough for the wire to take all frames from its interface's own queue.
        send = (
            "import socket, sys, time\n"
            "to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for number in range({2 * MAX_QUEUE_PACKETS}):\n"
            "    to.sendto(bytes(1400), (sys.argv[1], 9))\n"
            "    time.sleep(0.00005)\n"
        )
        both = {"client": lab[PEER].address(), PEER: lab[owner_name("client")].address()}
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda way: lab[way[0]].run(["python3", "-c", send, way[1]]), both.items()))
        free_bytes = free_memory_bytes(links)
        queue_bytes = MAX_QUEUE_PACKETS * FULL_FRAME_BYTES
        # The queues must really have been full.
        assert free_bytes < free_before_bytes - queue_bytes
        assert free_bytes > 2 * queue_bytes
        links.apply(WAN, subject=PEER)
        assert_matches(links, WAN)


def test_a_link_with_a_foreign_qdisc_is_not_shaped(lab: Lab, links: ShapedLinks) -> None:
    foreign = (
        "from netadmin.rtnetlink import IPRoute; ip = IPRoute(); index = ip.link_lookup(ifname='eth0')[0];"
        "ip.tc('add', 'tbf', index, handle=0x10000, rate='100mbit', burst=65536, latency='50ms')"
    )
    lab[owner_name(PEER)].run(["python3", "-c", foreign])
    with pytest.raises(LabError, match="tbf qdisc of somebody else"):
        shape(links.agent(PEER), WAN.client)
    remove = foreign.partition("ip.tc")[0] + "ip.tc('del', index=index, root=True)"
    lab[owner_name(PEER)].run(["python3", "-c", remove])


@pytest.mark.slow
def test_a_wire_that_dies_in_a_trial_makes_the_block_void_and_comes_back(
    engine: docker.DockerClient,
    lab_session: Session,
    nginx: str,
    host_snapshot: Snapshot,
    measure: Measure,
    wire: str,
    during_block: Callable[[int, Callable[[], None]], None],
) -> None:
    assert wire
    scenario = ReuseportStall(default_rmem=host_snapshot.triple(TCP_RMEM)).scenario()
    claim = scenario.claim("twins_are_alike")
    lab = Key(f"{SCENARIO} over a wire that dies", "", nginx, PROFILES["fast-backend"].name)
    during_block(2, lambda: end_wires(engine, lab_session))
    with measure(lab, scenario, [claim]) as measures:
        cell = measures.decide(claim)
    assert cell.void_blocks >= 1
    assert cell.blocks >= FEWEST_BLOCKS
    assert cell.verdict in {"holds", "inconclusive"}


@pytest.fixture
def during_block(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, Callable[[], None]], None]]:
    """Call a function shortly after a block's first trial has begun."""
    timers: list[threading.Timer] = []

    def arrange(block: int, what: Callable[[], None]) -> None:
        run = Bench.run

        def run_and_disturb(bench: Bench, arm: object, *, label: str) -> Outcome[Any]:
            if label.endswith(f"-b{block}") and not timers:
                timers.append(threading.Timer(0.5, what))
                timers[0].start()
            return run(bench, arm, label=label)  # type: ignore[arg-type] # handed through

        monkeypatch.setattr(Bench, "run", run_and_disturb)

    yield arrange
    for timer in timers:
        timer.join()


def test_without_a_tun_device_there_is_no_wire_and_the_error_names_the_device(
    lab_session: Session, images: BuiltImages
) -> None:
    """The engine itself refuses a container that requests a missing device."""
    missing = "/dev/net/no-such-tun"
    impossible = why_impossible(lab_session, images.roles["netadmin"], tun=missing)
    assert missing in impossible[WIRE]
    if not impossible[NATIVE]:
        pytest.skip("this host shapes natively, and needs no wire")
    with pytest.raises(CannotRunHereError, match="no-such-tun"):
        choose_shaper("auto", impossible)


def test_a_links_netadmin_container_has_only_the_privileges_that_it_needs(lab: Lab) -> None:
    host = lab[owner_name("client")].inspect()
    assert host["HostConfig"]["Privileged"] is False
    assert {name.removeprefix("CAP_") for name in host["HostConfig"]["CapAdd"]} == {"NET_ADMIN", "NET_RAW"}
    assert [device["PathOnHost"] for device in host["HostConfig"]["Devices"]] == ["/dev/net/tun"]
    assert not host["HostConfig"]["Binds"]
