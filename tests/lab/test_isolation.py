"""The privileges and limits of a lab's containers, as the engine and the kernel report them."""

from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from tests.lab.benches import bench_of
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.scenarios import Scenario

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def containers(lab_session: Session, images: BuiltImages, place_cpus: PlaceCpus) -> Iterator[dict[str, dict[str, Any]]]:
    """Return the engine's report on every container of a running scenario's lab, by role."""
    nginx = next(iter(images.subjects))
    subject = Subject(
        name="subject",
        config=SubjectConfig(upstream="backend:8000"),
        sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"},
    )
    arm = Arm(name="unloaded", subject=subject, plan=StallLoad())
    scenario = Scenario(name="isolation", arms=(arm,), claims=())
    built, placement = images.of_bench(nginx), place_cpus(())
    with bench_of(lab_session, scenario, nginx=nginx, images=built, placement=placement) as (lab, _):
        yield {container.spec.role.value: container.inspect() for container in lab.containers()}


@pytest.fixture(params=["subject", "backend", "client", "netadmin"])
def inspected(request: pytest.FixtureRequest, containers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return containers[request.param]


def test_no_container_mounts_anything_from_the_host(inspected: dict[str, Any]) -> None:
    """A container has neither bind mounts nor volumes; files come with the image or by upload."""
    assert not inspected["Mounts"]


def test_no_container_publishes_a_port(inspected: dict[str, Any]) -> None:
    assert not inspected["HostConfig"]["PortBindings"]
    assert not inspected["HostConfig"]["PublishAllPorts"]
    assert not any((inspected["NetworkSettings"]["Ports"] or {}).values())


def test_no_container_is_privileged_or_shares_a_namespace_of_the_host(inspected: dict[str, Any]) -> None:
    host = inspected["HostConfig"]
    assert host["Privileged"] is False
    assert "host" not in {host["NetworkMode"], host["PidMode"], host["IpcMode"], host["UTSMode"], host["UsernsMode"]}


def test_every_container_drops_all_capabilities_and_only_netadmin_adds_two(
    containers: dict[str, dict[str, Any]],
) -> None:
    """Links and captures need NET_ADMIN and NET_RAW."""
    assert all(item["HostConfig"]["CapDrop"] == ["ALL"] for item in containers.values())
    kept = {role: set(item["HostConfig"]["CapAdd"] or []) for role, item in containers.items()}
    assert {name.removeprefix("CAP_") for name in kept.pop("netadmin")} == {"NET_ADMIN", "NET_RAW"}
    assert not any(kept.values())


def test_only_netadmin_sees_processes_of_another_container(containers: dict[str, dict[str, Any]]) -> None:
    """Netadmin reads nginx's memory use."""
    modes = {role: item["HostConfig"]["PidMode"] for role, item in containers.items()}
    assert modes.pop("netadmin") == f"container:{containers['subject']['Id']}"
    assert not any(modes.values())


def test_no_other_role_runs_on_the_subjects_cpu(containers: dict[str, dict[str, Any]]) -> None:
    """The load generator must not compete with the program under test."""
    assert containers["subject"]["HostConfig"]["CpusetCpus"] == "0"
    assert all("0" not in containers[role]["HostConfig"]["CpusetCpus"] for role in ("backend", "client", "netadmin"))


def test_a_roles_limits_reach_the_kernel(lab_session: Session, images: BuiltImages) -> None:
    """A process in the container sees its CPUs, sysctls and capabilities; the engine reports the other limits."""
    spec = RoleSpec(
        name="client",
        role=Role.CLIENT,
        image=images.roles["client"],
        cpuset="1",
        memory_bytes=64 << 20,
        cpus=0.5,
        sysctls={"net.core.somaxconn": "77"},
    )
    with Lab(lab_session) as lab:
        lab.start([spec])
        client = lab["client"]
        assert client.inspect()["HostConfig"]["Memory"] == 64 << 20
        assert client.inspect()["HostConfig"]["MemorySwap"] == 64 << 20
        assert client.inspect()["HostConfig"]["NanoCpus"] == 500_000_000
        assert client.run(["cat", "/proc/sys/net/core/somaxconn"]) == b"77\n"
        status = client.run(["cat", "/proc/self/status"]).decode()
    assert "Cpus_allowed_list:\t1\n" in status
    assert "CapEff:\t0000000000000000\n" in status
