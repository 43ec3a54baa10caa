"""The CPUs of the roles, on small and on large machines."""

import pytest

from tuneproof.errors import BadInputError
from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.topology.placed import Engine, Engines
from tuneproof.lab.topology.roles import Role
from tuneproof.proof.scenario.placement import (
    CpuPlacement,
    CpuShare,
    TooFewCpusError,
    check_requested,
    is_alone,
    with_cpus,
)

MANY = (CpuShare.MANY,)
TWO = Cpus(allowed="0-1", nodes=("0-1",))
# Two nodes of four cores with two hyperthreads each; the second hyperthreads come last.
LARGE = Cpus(allowed="0-15", nodes=("0-3,8-11", "4-7,12-15"), cores=tuple(f"{cpu},{cpu + 8}" for cpu in range(8)))
# A laptop's two cores, with consecutive hyperthreads.
LAPTOP = Cpus(allowed="0-3", nodes=("0-3",), cores=("0-1", "2-3"))


@pytest.mark.parametrize(
    ("cpus", "others", "idle"),
    [
        (TWO, "1", ""),
        (Cpus(allowed="0-2"), "1-2", ""),
        (Cpus(allowed="0-63"), "1-63", ""),
        (LAPTOP, "2-3", "1"),
        (LARGE, "1-7,9-15", "8"),
        (Cpus(allowed="0-1", cores=("0-1",)), "1", ""),
    ],
    ids=["two", "three", "many", "laptop", "large", "one-core"],
)
def test_the_subject_has_one_cpu_and_all_others_share_the_other_cores(cpus: Cpus, others: str, idle: str) -> None:
    """The hyperthread next to the subject's CPU stays idle, unless there is no other CPU."""
    placement = CpuPlacement.on(cpus, shares=[CpuShare.FIRST])
    assert (placement.subject, placement.others, placement.idle) == ("0", others, idle)
    assert CpuPlacement.on(cpus) == placement


@pytest.mark.parametrize(
    ("cpus", "requested", "subject", "others", "idle"),
    [
        (TWO, "", "0", "1", ""),
        (LARGE, "", "0-3,8-11", "4-7,12-15", ""),
        (LARGE, "2", "0-1", "2-7,10-15", "8-9"),
        (LARGE, "10", "0-5,8-11", "6-7,14-15", "12-13"),
        (LARGE, "15", "0-14", "15", ""),
        (LAPTOP, "2", "0,2", "1,3", ""),
        # An engine that may use only part of its machine: the first CPUs may belong to somebody else.
        (Cpus(allowed="4-7", nodes=("0-7",)), "", "4-5", "6-7", ""),
    ],
)
def test_many_cpus_are_taken_from_the_cores_of_the_first_node_first(
    cpus: Cpus, requested: str, subject: str, others: str, idle: str
) -> None:
    """By default, nginx gets half of the machine."""
    placement = CpuPlacement.on(cpus, shares=MANY, requested=requested)
    assert (placement.subject, placement.others, placement.idle) == (subject, others, idle)


def test_each_subject_gets_its_share_of_the_cpus() -> None:
    """Each subject declares its share. A user's own nginx has one CPU, or as many as requested."""
    placement = CpuPlacement.on(LARGE, shares=MANY)
    assert [placement.of(share) for share in CpuShare] == ["0", "0-3,8-11", "0-3,8-11", ""]
    assert placement.subject_count == 8
    assert CpuPlacement.on(LARGE, shares=[CpuShare.ASKED]).subject == "0"
    assert CpuPlacement.on(LARGE, shares=[CpuShare.ASKED], requested="4").subject == "0-3"
    assert CpuPlacement.on(LARGE, shares=[CpuShare.FIRST], requested="4").subject == "0"


def test_nginx_may_have_a_whole_machine() -> None:
    placement = CpuPlacement.on(LARGE, shares=MANY, requested="all", alone=True)
    assert (placement.subject, placement.others) == ("0-15", "0-15")
    assert CpuPlacement.on(Cpus(allowed="0"), shares=MANY, requested="1", alone=True).subject == "0"


@pytest.mark.parametrize(
    ("cpus", "requested", "line"),
    [
        (LARGE, "2", "nginx on CPUs 0-1, everything else on 2-7,10-15, hyperthreads 8-9 left idle"),
        (Cpus(allowed="0-15"), "2", "nginx on CPUs 0-1, everything else on 2-15"),
        (
            LARGE,
            "10",
            "nginx on CPUs 0-5,8-11 (2 NUMA nodes), everything else on 6-7,14-15, hyperthreads 12-13 left idle",
        ),
    ],
)
def test_a_placement_is_described_in_words(cpus: Cpus, requested: str, line: str) -> None:
    assert CpuPlacement.on(cpus, shares=MANY, requested=requested).line() == line


@pytest.mark.parametrize(
    ("requested", "alone", "message"),
    [
        (
            "2",
            False,
            "--subject-cpus 2: nginx's machine has 2 CPUs, and other programs need one of them; ask for at most 1",
        ),
        ("3", True, "--subject-cpus 3: nginx's machine has 2 CPUs; ask for at most 2"),
    ],
)
def test_asking_for_more_cpus_than_are_free_ends_the_run(requested: str, alone: bool, message: str) -> None:  # noqa: FBT001 - a case
    with pytest.raises(TooFewCpusError) as caught:
        CpuPlacement.on(TWO, shares=MANY, requested=requested, alone=alone)
    assert message.partition("; ")[0] == caught.value.what
    assert caught.value.remedy.startswith(message.partition("; ")[2])
    assert caught.value.ends_run


@pytest.mark.parametrize("requested", ["0", "-1", "two", "1.5", "²"])
def test_an_invalid_number_of_cpus_is_rejected(requested: str) -> None:
    with pytest.raises(BadInputError, match="not a number of CPUs"):
        check_requested(requested, Engines())


def test_all_cpus_are_only_for_an_nginx_with_its_own_machine() -> None:
    """A backend on the same machine would share the CPUs."""
    here, far = (Engine(name=name, environment={"DOCKER_HOST": name}) for name in ("here", "far"))
    beside = Engines(default=here, by_role={Role.CLIENT: far}, manager=far)
    alone = Engines(default=here, by_role={Role.CLIENT: far, Role.BACKEND: far}, manager=far)
    assert not is_alone(beside)
    assert is_alone(alone)
    with pytest.raises(BadInputError, match="--subject-cpus all: load generators and backends need CPUs"):
        check_requested("all", beside)
    check_requested("all", alone)
    check_requested("8", beside)
    check_requested("", Engines())


def test_roles_elsewhere_have_the_cpus_of_their_own_machines() -> None:
    """Such a role leaves the first CPU of its machine idle, unless it is the only one."""
    here, far, small = (Engine(name=name, cpus=cpus) for name, cpus in (("here", 32), ("far", 4), ("small", 1)))
    engines = with_cpus(Engines(default=here, by_role={Role.CLIENT: far, Role.BACKEND: small}, manager=far))
    assert engines.subject.cpuset("0") == "0"
    assert engines.of(Role.CLIENT).cpuset("1-31") == "1-3"
    assert {engines.of(Role.BACKEND).cpuset(requested) for requested in ("0", "1-31")} == {"0"}
    assert engines.of(Role.CLIENT).cpuset("") == ""
    assert engines.manager == engines.of(Role.CLIENT)
