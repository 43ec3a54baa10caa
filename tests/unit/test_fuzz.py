"""The fuzz runner finds each kind of failure, and no parser fails on a sample of its inputs."""

import random
import resource
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.__main__ import main, target
from tests.fuzz.checks import ContradictionError, check_figures
from tests.fuzz.mutate import _CHANGES, MOST_BYTES, mutated
from tests.fuzz.parsers import READERS
from tests.fuzz.runner import Tally, Target, input_of, run
from tests.fuzz.seeds import SEEDS
from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

INPUTS = 60
MIB = 1 << 20
SEED = b"one 1\ntwo 22\nthree 333\n"


def tally(read: Callable[[bytes], None], *, inputs: int = 3, hang_s: float = 5.0, places: bool = False) -> Tally:
    """Run one of this module's parsers."""
    own = Target(name="own", read=read, seeds=(SEED,), places=places)
    return run(own, inputs=inputs, hang_s=hang_s, memory_bytes=64 * MIB)


@pytest.mark.parametrize("name", READERS)
def test_damaged_evidence_leads_to_a_result_or_a_malformed_evidence_error(name: str) -> None:
    """No input leads to another error, a hang or unbounded memory; undamaged evidence is read."""
    for seed in SEEDS[name]:
        READERS[name](seed)
        assert len(seed) < MOST_BYTES
    done = run(target(name), inputs=INPUTS)
    assert [failure.trace for failure in done.kept] == []
    assert done.parsed + done.rejected == INPUTS
    # The parser must also recognise some of the inputs.
    assert done.parsed > INPUTS // 20


def test_results_and_malformed_evidence_errors_are_not_failures() -> None:
    def read(content: bytes) -> None:
        if len(content) % 2:
            raise MalformedEvidenceError("odd", offset=0)

    before = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)
    done = tally(read, inputs=50)
    assert done.parsed + done.rejected == 50
    assert min(done.parsed, done.rejected) > 0
    assert (done.failures.total(), done.kept) == (0, [])
    assert (resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def fails(content: bytes) -> None:
    raise KeyError(content)


def warns(_: bytes) -> None:
    """Give a warning, which would appear on a user's terminal."""
    warnings.warn("divided by 0", RuntimeWarning, stacklevel=1)


def hangs(_: bytes) -> None:
    while True:
        try:
            while True:
                pass
        except Exception:  # noqa: BLE001, S112 - a parser that hides its errors
            continue


def fills(_: bytes) -> None:
    bytearray(128 * MIB)


def is_vague(_: bytes) -> None:
    """Reject the input without a place, so that a user would have to search the whole file."""
    raise MalformedEvidenceError("somewhere")


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (fails, "KeyError in test_fuzz.py"),
        (warns, "RuntimeWarning in test_fuzz.py"),
        (hangs, "HangError"),
        (fills, "MemoryError"),
        (is_vague, "MalformedEvidenceError in test_fuzz.py"),
    ],
)
def test_any_other_outcome_is_a_failure_and_three_failures_of_a_kind_are_kept(
    read: Callable[[bytes], None], kind: str
) -> None:
    """The first three are kept with the input's number; each input gets its full time and memory."""
    done = tally(read, inputs=4, hang_s=0.05, places=True)
    [(found, count)] = done.failures.items()
    assert (found.partition(":")[0], count, done.parsed + done.rejected) == (kind, 4, 0)
    assert [failure.number for failure in done.kept] == [0, 1, 2]


def test_memory_within_the_limit_is_allowed() -> None:
    assert tally(lambda _: (bytearray(b"x") * (32 * MIB)).clear()).parsed == 3


def test_the_same_seed_makes_the_same_inputs() -> None:
    """Each input depends only on the seed and the input's number; another seed makes other inputs."""
    seen: list[bytes] = []
    own = Target(name="ss", read=seen.append, seeds=SEEDS["ss"])
    run(own, inputs=20, seed=7)
    assert [input_of(own, number, seed=7) for number in range(20)] == seen
    assert len(set(seen)) == 20
    assert [input_of(own, number, seed=8) for number in range(20)] != seen


@pytest.mark.parametrize("change", dict.fromkeys(_CHANGES), ids=lambda change: change.__name__)
def test_each_change_usually_changes_its_input_and_accepts_an_empty_one(
    change: Callable[[bytes, tuple[bytes, ...], random.Random], bytes],
) -> None:
    """After several changes, an input has at most MOST_BYTES."""
    chance = random.Random(1)  # noqa: S311 - a fixed seed
    changed = [change(SEED, (SEED, b"other"), chance) for _ in range(100)]
    assert sum(content != SEED for content in changed) > 50
    assert all(isinstance(change(b"", (b"",), chance), bytes) for _ in range(100))
    assert max(len(mutated((SEED * 200,), chance)) for _ in range(100)) == MOST_BYTES


SOUND = [Figure(key=f"key_{number}", name="sound", value=None) for number in range(40)]


@pytest.mark.parametrize(
    "figures",
    [
        [Figure(key="some", name="share", value=float("nan"))],
        [Figure(key="some", name="rate", value=float("inf"))],
        [Figure(key="some", name="count", value=-1)],
        [Figure(key="some", name="text", value="\ud800")],
        [Figure(key="some", name="\udfff", value=1)],
        [*SOUND, Figure(key="more", name="sound", value=1)],
        [Figure(key="some", name="sound", value=1, of="a")] * 2,
    ],
    ids=["nan", "inf", "below 0", "text", "name", "too many", "same key of the same thing"],
)
def test_figures_that_cannot_be_shown_or_distinguished_are_failures(figures: list[Figure]) -> None:
    """JSON lacks NaN and infinity, UTF-8 cannot encode half a surrogate pair, and programs look figures up by key."""
    check_figures(SOUND)
    check_figures([Figure(key="some", name="sound", value=1, of=of) for of in ("a", "b")])
    with pytest.raises((ContradictionError, UnicodeEncodeError)):
        check_figures(figures)


def test_the_command_runs_the_parsers_that_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ["softnet", "wrk", "--inputs", "20", "--keep", str(tmp_path / "kept")]
    assert main(arguments) == 0
    assert [line.split(", ")[-1] for line in capsys.readouterr().out.splitlines()] == ["0 failures"] * 2
    assert not (tmp_path / "kept").exists()
    monkeypatch.setitem(READERS, "wrk", fails)
    assert main(arguments) == 1
    assert "wrk: 0 parsed, 0 rejected, 20 failures\n  KeyError in test_fuzz.py" in capsys.readouterr().out
    assert (tmp_path / "kept" / "wrk-0.input").read_bytes() == input_of(target("wrk"), 0, seed=0)
    assert "KeyError" in (tmp_path / "kept" / "wrk-0.txt").read_text()
    with pytest.raises(SystemExit):
        main(["tcpdump"])
