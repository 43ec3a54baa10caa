"""A scenario's small parts: claims as questions, an arm's figures, CPUs, preconditions."""

from collections.abc import Mapping

import pytest

from fixtures.errors import CannotRunHereError
from fixtures.inference.intervals import Scale
from fixtures.inference.looks import Looks
from fixtures.inference.verdicts import Verdict
from fixtures.load.observation import Observation
from fixtures.scenario.arm_metrics import arm_metrics
from fixtures.scenario.arms import Subject
from fixtures.scenario.placement import CpuPlacement
from fixtures.scenario.preconditions import PreconditionError, check_subject
from fixtures.subject.config import SubjectConfig
from fixtures.subject.snapshot import Snapshot
from tests.unit.canned_trials import fast_record, raw_trial
from tests.unit.fake_bench import claim


def test_a_claim_becomes_a_question_with_nothing_changed() -> None:
    """What decides it was declared with it."""
    looks = Looks(blocks=(6, 9))
    stall = claim("stall", "a", "b")
    question = stall.question(looks)
    assert (question.name, question.arms, question.effect) == ("stall", ("a", "b"), stall.effect)
    assert (question.scale, question.threshold, question.looks) == (Scale.RATIO, 5, looks)


@pytest.mark.parametrize(("scale", "unit"), [(Scale.RATIO, "ratio"), (Scale.DIFFERENCE, "share")])
def test_the_unit_in_the_results_follows_the_scale(scale: Scale, unit: str) -> None:
    """results.json knows two units."""
    assert claim("stall", "a", scale=scale).unit == unit


def test_another_expectation_leaves_the_claim_itself_alone() -> None:
    """What expired since is refuted on a newer version, and the same claim on an older one still holds."""
    stall = claim("stall", "a")
    expired = stall.expecting(Verdict.REFUTED)
    assert (stall.expected, expired.expected) == (Verdict.HOLDS, Verdict.REFUTED)
    assert expired.expecting(Verdict.HOLDS) == stall


def test_an_arms_figures_are_medians_over_its_trials() -> None:
    """One odd block shows nothing; worker 1 is the one with the smaller process id."""
    trials = [
        Observation.from_json(raw_trial(lags_ms=([lag], [1.0]), bulk=(bulk, bulk)))
        for lag, bulk in ((20.0, 1000), (21.0, 2000), (9000.0, 3000))
    ]
    metrics = arm_metrics(trials)
    assert metrics["trials"] == 3
    assert (metrics["worker1_lag_p50_ms"], metrics["worker2_lag_p99_ms"]) == (21, 1)
    assert metrics["bulk_bytes_per_s"] == 2000, "both workers together, over a window of 2 s"
    assert metrics["busy_pct"] == 50


def test_fast_requests_are_pooled_and_the_incomplete_ones_counted() -> None:
    """A trial with many requests weighs more than one with few."""
    first, second = raw_trial(fast_ms=[10.0, 20.0, 30.0]), raw_trial(fast_ms=[])
    second["fast"] = [fast_record(1000.0, complete=False)]
    metrics = arm_metrics([Observation.from_json(first), Observation.from_json(second)])
    assert (metrics["fast_requests"], metrics["fast_incomplete"], metrics["fast_p50_ms"]) == (4, 1, 25)


def test_what_an_arm_did_not_measure_is_none_and_not_zero() -> None:
    """Zero milliseconds would be a figure."""
    metrics = arm_metrics([Observation.from_json(raw_trial())])
    assert (metrics["baseline_requests"], metrics["baseline_p50_ms"], metrics["fast_p99_ms"]) == (0, None, None)


def test_an_arm_without_valid_trials_has_no_figures() -> None:
    """All of its blocks were void."""
    assert arm_metrics([]) == {"trials": 0}


@pytest.mark.parametrize(("cpus", "others"), [(2, "1"), (3, "1-2"), (64, "1-63")])
def test_the_subject_has_the_first_cpu_and_everybody_else_the_others(cpus: int, others: str) -> None:
    """In the kernel's list format."""
    placement = CpuPlacement.on(cpus)
    assert (placement.subject, placement.others) == ("0", others)


def test_one_cpu_is_too_few() -> None:
    """The load generators would measure themselves."""
    with pytest.raises(CannotRunHereError, match="this engine has 1 CPU"):
        CpuPlacement.on(1)


START_LOG = "nginx/1.22.1\nstart worker process 11\nstart worker process 12\n"
COMMANDS = ("nginx: master process nginx", "nginx: worker process", "nginx: worker process")
SUBJECT = Subject(
    name="small",
    config=SubjectConfig(upstream="backend:8000"),
    sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"},
)


def snapshot(*, backlogs: Mapping[int, tuple[int, ...]] | None = None, rmem: str = "40960 40960 40960") -> Snapshot:
    """What netadmin sees when all is well, but for what a test changes."""
    return Snapshot(
        sysctls={"net.ipv4.tcp_rmem": rmem},
        listener_backlogs={8000: (511, 511)} if backlogs is None else backlogs,
        counters={},
        cpu_model="Xeon",
    )


def test_a_subject_as_it_was_asked_for_passes_and_is_recorded() -> None:
    """What was read back goes into the evidence, in JSON types."""
    assert check_subject(SUBJECT, nginx="1.22", snapshot=snapshot(), start_log=START_LOG, commands=COMMANDS) == {
        "nginx": "1.22",
        "workers": 2,
        "listener_backlogs": [511, 511],
        "sysctls": {"net.ipv4.tcp_rmem": "40960 40960 40960"},
    }


@pytest.mark.parametrize(
    ("version", "seen", "commands", "fault"),
    [
        ("1.2", snapshot(), COMMANDS, "the log does not name nginx 1.2"),
        ("1.22", snapshot(), COMMANDS[:2], "1 workers, wanted 2"),
        ("1.22", snapshot(backlogs={8000: (511,)}), COMMANDS, "1 listening sockets on port 8000, wanted 2"),
        ("1.22", snapshot(backlogs={80: (511, 511)}), COMMANDS, "0 listening sockets on port 8000, wanted 2"),
        (
            "1.22",
            snapshot(rmem="4096 131072 6291456"),
            COMMANDS,
            "net.ipv4.tcp_rmem is '4096 131072 6291456', wanted '40960 40960 40960'",
        ),
    ],
    ids=["version", "workers", "listeners", "port", "sysctl"],
)
def test_each_difference_from_what_was_asked_for_is_named(
    version: str, seen: Snapshot, commands: tuple[str, ...], fault: str
) -> None:
    """A claim measured on another subject than declared would be about nothing."""
    with pytest.raises(PreconditionError) as caught:
        check_subject(SUBJECT, nginx=version, snapshot=seen, start_log=START_LOG, commands=commands)
    assert caught.value.what == f"precondition of subject small: {fault}"


def test_a_sysctl_that_cannot_be_read_is_a_difference() -> None:
    """A kernel that does not show it cannot prove it; several faults are named together."""
    seen = Snapshot(sysctls={}, listener_backlogs={}, counters={}, cpu_model="")
    with pytest.raises(PreconditionError, match=r"0 listening sockets .*; net\.ipv4\.tcp_rmem is None"):
        check_subject(SUBJECT, nginx="1.22", snapshot=seen, start_log=START_LOG, commands=COMMANDS)


def test_a_shared_queue_must_have_one_listening_socket() -> None:
    """With two, the kernel would spread connections after all."""
    shared = Subject(name="shared", config=SubjectConfig(upstream="backend:8000", reuseport=False))
    with pytest.raises(PreconditionError, match="2 listening sockets on port 8000, wanted 1"):
        check_subject(shared, nginx="1.22", snapshot=snapshot(), start_log=START_LOG, commands=COMMANDS)
