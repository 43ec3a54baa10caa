"""A scenario's small parts: looks, expectations, needed arms, backends, preconditions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fake_bench import claim
from tuneproof.lab.load.stall_load import BULK_BYTES, SMALL_BYTES
from tuneproof.lab.network.links import NetworkProfile
from tuneproof.lab.network.profiles import BARE, PROFILES
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.links import Greeting
from tuneproof.lab.protocol.observer import Snapshot
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.lab.topology.roles import Role
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.backends import STATIC, Backend
from tuneproof.proof.scenario.bench import listening
from tuneproof.proof.scenario.preconditions import PreconditionError, check_subject

PLANS = {
    "the-depths": ((5, 9), (), (), (5, 9)),
    "further": ((5, 9), (6, 12), (), (5, 9, 15, 21)),
    "own-later": ((5, 9), (), (7, 14), (7, 14)),
    "own-single": ((5, 9), (), (29,), (29,)),
    "own-sooner": ((12, 18, 24), (), (7, 14), (12, 18, 24)),
    "further-of-three": ((12, 18, 24), (3,), (), (12, 18, 24, 27)),
    "own-beyond": ((12, 18, 24), (), (29,), (29,)),
    "own-at-the-same-time": ((7, 14), (), (7, 20), (7, 14)),
}


@pytest.mark.parametrize(("depth", "further", "own", "wanted"), PLANS.values(), ids=PLANS)
def test_a_claim_uses_its_own_looks_if_those_of_the_depth_come_too_soon(
    depth: tuple[int, ...], further: tuple[int, ...], own: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    assert claim("stall", "a", further_looks=further, own_looks=own).looks(depth) == wanted


@pytest.mark.parametrize(
    ("version", "since", "expired"),
    [
        ("1.30", "1.29.7", True),
        ("1.29.7", "1.29.7", True),
        ("1.29.10", "1.29.7", True),
        ("1.29.6", "1.29.7", False),
        ("1.26", "1.29.7", False),
        ("1.9", "1.18", False),
        ("1.30", "", False),
        # 1.31 means the lab's mainline release.
        ("1.31", "1.31.3", True),
        ("1.31", "1.31.4", False),
    ],
)
def test_a_claim_has_expired_since_the_version_that_made_it_unnecessary(
    version: str,
    since: str,
    expired: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Versions are compared part by part as numbers, not as text."""
    assert claim("stall", "a", expired_since=since).has_expired(version) is expired
    assert claim("stall", "a", since=since).is_ahead_of(version) is (bool(since) and not expired)


WAN = PROFILES["wan"]
OLD, NEW = "1.26", "1.30"


@pytest.mark.parametrize(
    ("changes", "version", "over", "expected"),
    [
        ({}, OLD, BARE, "holds"),
        ({}, NEW, BARE, "holds"),
        ({}, NEW, WAN, None),
        ({"everywhere": True}, NEW, WAN, "holds"),
        ({"expected": Verdict.REFUTED}, OLD, BARE, "refuted"),
        ({"expired_since": "1.29.7"}, OLD, BARE, "holds"),
        ({"by_build": "it counts otherwise"}, NEW, BARE, "holds"),
        ({"by_build": "it counts otherwise"}, MAINLINE, BARE, "refuted"),
        ({"by_build": "it is smaller", "expired_since": "1.25.0"}, NEW, BARE, "refuted"),
        ({"by_build": "it is smaller", "expired_since": "1.25.0"}, MAINLINE, BARE, "holds"),
        ({"by_build": "it counts otherwise", "expected": Verdict.REFUTED}, MAINLINE, BARE, "holds"),
        ({"expired_since": "1.29.7"}, NEW, BARE, "refuted"),
        ({"expired_since": "1.29.7"}, NEW, WAN, None),
        ({"expired_since": "1.29.7", "everywhere": True}, OLD, WAN, "holds"),
        ({"expired_since": "1.29.7", "everywhere": True}, NEW, WAN, "refuted"),
        ({"expected": None}, NEW, BARE, None),
        ({"expected": None, "everywhere": True, "expired_since": "1.20"}, NEW, BARE, None),
        ({"expected": None, "everywhere": True, "expired_since": "1.20"}, NEW, WAN, None),
    ],
    ids=str,
)
def test_the_expectation_of_a_claim_depends_on_version_build_and_network(
    changes: dict[str, Any], version: str, over: NetworkProfile, expected: str | None
) -> None:
    """There is no expectation if hosts may differ, or if the claim does not cover the network.

    Expired claims should be refuted, unless the build decides otherwise.
    """
    assert claim("stall", "a", **changes).expected_on(version, over) == expected


def test_a_claim_also_needs_the_arms_of_its_control() -> None:
    """Without the control's trials, the claim could not be decided. An arm that both use is needed once."""
    assert claim("stall", "a", "b").needed_arms == {"a", "b"}
    assert claim("stall", "a", control=claim("there", "c", "a")).needed_arms == {"a", "c"}


def test_a_backend_is_a_container_with_its_kind_and_its_share_of_a_cpu() -> None:
    """Subjects reach the backend by its name; its responses have the sizes that the loads expect."""
    small = Backend(name="slow", kind=STATIC, cpus=0.06)
    spec = small.spec(image="backend:1", cpuset="1-3")
    assert (spec.name, spec.role, spec.image, spec.cpuset) == ("slow", Role.BACKEND, "backend:1", "1-3")
    assert (spec.cpus, small.upstream, Backend().spec(image="i", cpuset="1").cpus) == (0.06, "slow:8000", None)
    sizes = {"BULK_BYTES": str(BULK_BYTES), "SMALL_BYTES": str(SMALL_BYTES)}
    assert spec.environment == {"BACKEND_KIND": "static", **sizes}


START_LOG = "nginx/1.22.1\nstart worker process 11\nstart worker process 12\n"
COMMANDS = ("nginx: master process nginx", "nginx: worker process", "nginx: worker process")
NOT_PINNED = "2026/11/23 01:02:03 [alert] 11#11: sched_setaffinity() failed (22: Invalid argument)"
SHARED = Subject(
    name="shared",
    config=SubjectConfig(upstream="backend:8000", reuseport=False),
    sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"},
)
SUBJECT = Subject(
    name="small", config=SubjectConfig(upstream="backend:8000"), sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"}
)


def snapshot(*, backlogs: Mapping[int, tuple[int, ...]] | None = None, rmem: str = "40960 40960 40960") -> Snapshot:
    """Return netadmin's snapshot of a correct subject, with a test's changes."""
    return Snapshot(
        sysctls={"net.ipv4.tcp_rmem": rmem},
        listener_backlogs={8000: (511, 511)} if backlogs is None else backlogs,
        cpu_model="Xeon",
        cpus=Cpus(allowed="0-1"),
    )


@pytest.mark.parametrize(
    ("printed", "looks"),
    [({8000: (511, 511)}, 0), ({8000: (511,)}, 1), ({}, 1)],
    ids=["in-time", "between-two", "too-early"],
)
def test_a_companion_that_looked_before_nginx_listened_looks_again(
    printed: Mapping[int, tuple[int, ...]], looks: int
) -> None:
    """On a busy machine, nginx may need longer to open all of its sockets than the companion needs to look."""
    asked = []

    def text(backlogs: Mapping[int, tuple[int, ...]] | None) -> str:
        return f"{json.dumps(to_plain(Greeting(snapshot=snapshot(backlogs=backlogs))))}\n"

    def run(command: Sequence[str]) -> bytes:
        asked.append(command)
        return text(None).encode()

    companion: Any = SimpleNamespace(wait_for_log=lambda _text: text(printed), run=run)
    assert listening(companion, SUBJECT.config) == snapshot()
    assert len(asked) == looks


def test_a_subject_as_requested_passes_and_is_recorded() -> None:
    """The values that were read back are recorded in the evidence, as JSON types."""
    assert check_subject(SUBJECT, nginx="1.22", snapshot=snapshot(), start_log=START_LOG, commands=COMMANDS) == {
        "nginx": "1.22",
        "workers": 2,
        "listener_backlogs": [511, 511],
        "sysctls": {"net.ipv4.tcp_rmem": "40960 40960 40960"},
        "records_turns": False,
    }


@pytest.mark.parametrize(
    ("changes", "seen", "faults"),
    [
        ({"nginx": "1.2"}, snapshot(), "the log does not mention nginx 1.2"),
        ({"commands": COMMANDS[:2]}, snapshot(), "workers: 1, wanted 2"),
        ({}, snapshot(backlogs={8000: (511,)}), "listening sockets on port 8000: 1, wanted 2"),
        ({}, snapshot(backlogs={80: (511, 511)}), "listening sockets on port 8000: 0, wanted 2"),
        # With two sockets, the kernel would distribute connections after all.
        ({"subject": SHARED}, snapshot(), "listening sockets on port 8000: 2, wanted 1"),
        (
            {},
            snapshot(rmem="4096 131072 6291456"),
            "net.ipv4.tcp_rmem is '4096 131072 6291456', wanted '40960 40960 40960'",
        ),
        # A kernel that does not show the setting cannot confirm it.
        (
            {},
            replace(snapshot(backlogs={}), sysctls={}),
            "listening sockets on port 8000: 0, wanted 2; net.ipv4.tcp_rmem is None, wanted '40960 40960 40960'",
        ),
        ({"start_log": f"{START_LOG}{NOT_PINNED}\n"}, snapshot(), NOT_PINNED),
    ],
    ids=["version", "workers", "listeners", "port", "shared", "sysctl", "several", "pinned"],
)
def test_each_difference_from_the_request_is_named(changes: dict[str, Any], seen: Snapshot, faults: str) -> None:
    """A measurement of a subject that differs from the declared one would mean nothing."""
    asked = {"subject": SUBJECT, "nginx": "1.22", "start_log": START_LOG, "commands": COMMANDS, **changes}
    subject = asked.pop("subject")
    with pytest.raises(PreconditionError) as caught:
        check_subject(subject, snapshot=seen, **asked)
    assert caught.value.what == f"precondition of nginx container {subject.name}: {faults}"


def test_a_subject_without_the_requested_record_is_reported_with_the_dynamic_loaders_reason() -> None:
    """The loader continues without a library that it cannot load; the trials would then lack their main figure."""
    loader = "ERROR: ld.so: object '/usr/lib/tuneproof/recorder.so' from LD_PRELOAD cannot be preloaded: ignored."
    with pytest.raises(PreconditionError) as caught:
        check_subject(
            replace(SUBJECT, records_turns=True),
            nginx="1.22",
            snapshot=snapshot(),
            start_log=f"{loader}\n{START_LOG}",
            commands=COMMANDS,
            no_turns="process 11 keeps no record",
        )
    reason = f"no record of loop iterations: process 11 keeps no record: {loader}"
    assert caught.value.what == f"precondition of nginx container small: {reason}"
