"""The fuzz runner finds what it looks for, and some of its inputs for every parser."""

import random
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.__main__ import main, targets
from tests.fuzz.checks import ContradictionError, told
from tests.fuzz.mutate import _CHANGES, MOST_BYTES, mutated
from tests.fuzz.parsers import READERS
from tests.fuzz.runner import Tally, Target, input_of, keep, run, table
from tests.fuzz.seeds import SEEDS
from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

INPUTS = 150
MIB = 1 << 20
SEED = b"one 1\ntwo 22\nthree 333\n"


def tally(read: Callable[[bytes], None], *, inputs: int = 3, hang_s: float = 5.0) -> Tally:
    """Run a parser of our own."""
    return run(Target(name="own", read=read, seeds=(SEED,)), inputs=inputs, hang_s=hang_s, memory_bytes=64 * MIB)


@pytest.mark.parametrize("name", READERS)
def test_damaged_evidence_is_answered_or_refused(name: str) -> None:
    """Whatever was done to it: no other error, no hang, no memory without bound."""
    [target] = targets([name])
    done = run(target, inputs=INPUTS)
    assert [failure.trace for failure in done.kept] == []
    assert done.answers + done.errors == INPUTS
    # Neither may all inputs be beyond recognition.
    assert done.answers > INPUTS // 20


@pytest.mark.parametrize("name", READERS)
def test_seeds_can_be_read(name: str) -> None:
    """A seed that is refused makes inputs that are refused at the same place."""
    for seed in SEEDS[name]:
        READERS[name](seed)
        assert len(seed) < MOST_BYTES


def test_an_answer_and_the_one_error_are_right() -> None:
    """Both are counted, and nothing is kept."""

    def read(content: bytes) -> None:
        if len(content) % 2:
            raise MalformedEvidenceError("odd", offset=0)

    done = tally(read, inputs=50)
    assert (done.inputs, done.answers + done.errors) == (50, 50)
    assert min(done.answers, done.errors) > 0
    assert (done.failures.total(), done.kept) == (0, [])


def test_a_refusal_without_its_place_is_a_failure() -> None:
    """Whoever brought the file would look for it in vain."""

    def read(_: bytes) -> None:
        raise MalformedEvidenceError("somewhere")

    done = run(Target(name="own", read=read, seeds=(SEED,), places=True), inputs=3)
    assert (done.failures.total(), done.errors) == (3, 0)


def test_any_other_error_is_a_failure_and_three_of_a_kind_are_kept() -> None:
    """With the input, so that it can be tried again."""

    def read(content: bytes) -> None:
        raise KeyError(content)

    done = tally(read, inputs=5)
    [(kind, count)] = done.failures.items()
    assert (kind.partition(":")[0], count) == ("KeyError in test_fuzz.py", 5)
    assert [failure.number for failure in done.kept] == [0, 1, 2]
    assert repr(done.kept[2].content) in done.kept[2].trace


def test_a_warning_is_a_failure() -> None:
    """Python prints it on the terminal of whoever explains a file."""

    def read(_: bytes) -> None:
        warnings.warn("divided by 0", RuntimeWarning, stacklevel=1)

    assert tally(read).failures.total() == 3


def test_a_hang_is_a_failure_whatever_the_parser_catches() -> None:
    """The next input has its full time again."""

    def read(_: bytes) -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:  # noqa: BLE001, S112 - the parser that hides its faults
                continue

    assert tally(read, inputs=2, hang_s=0.05).failures == {"HangError": 2}


def test_a_hang_is_a_failure_even_if_its_alarm_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python only prints what a destructor raises."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Lingering:
        def __del__(self) -> None:
            while True:
                pass

    def read(_: bytes) -> None:
        Lingering()

    done = tally(read, inputs=2, hang_s=0.05)
    assert (done.failures, done.answers) == ({"HangError": 2}, 0)


def test_memory_without_bound_is_a_failure() -> None:
    """Beyond the bound there is none; below it, its use is told."""

    def read(_: bytes) -> None:
        bytearray(128 * MIB)

    assert tally(read).failures == {"MemoryError": 3}
    frugal = tally(lambda _: (bytearray(b"x") * (32 * MIB)).clear())
    assert frugal.failures.total() == 0
    assert 31 * MIB <= frugal.growth_bytes < 128 * MIB


def test_the_process_is_afterwards_as_it_was() -> None:
    """Its limit, its alarm and their handler."""
    before = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)
    tally(lambda _: None)
    assert (resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGPROF)) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_the_same_seed_makes_the_same_inputs() -> None:
    """Each by its number alone; another seed makes others."""
    [target] = targets(["ss"])
    seen: list[bytes] = []
    run(Target(name="ss", read=seen.append, seeds=target.seeds), inputs=20, seed=7)
    assert [input_of(target, number, seed=7) for number in range(20)] == seen
    assert len(set(seen)) == 20
    assert [input_of(target, number, seed=8) for number in range(20)] != seen


def test_inputs_stay_short_whatever_is_doubled() -> None:
    """Otherwise one of them would take the time of thousands."""
    assert max(len(mutated((SEED * 200,), random.Random(number))) for number in range(500)) == MOST_BYTES  # noqa: S311 - fixed


@pytest.mark.parametrize("change", dict.fromkeys(_CHANGES), ids=lambda change: change.__name__)
def test_each_change_changes_what_it_can_and_takes_what_is_empty(
    change: Callable[[bytes, tuple[bytes, ...], random.Random], bytes],
) -> None:
    """Most of the time; an earlier change may have left nothing."""
    chance = random.Random(1)  # noqa: S311 - fixed
    changed = [change(SEED, (SEED, b"other"), chance) for _ in range(100)]
    assert sum(content != SEED for content in changed) > 50
    assert all(isinstance(change(b"", (b"",), chance), bytes) for _ in range(100))


@pytest.mark.parametrize(
    "figure",
    [
        Figure(key="some", name="share", value=float("nan")),
        Figure(key="some", name="rate", value=float("inf")),
        Figure(key="some", name="count", value=-1),
        Figure(key="some", name="text", value="\ud800"),
        Figure(key="some", name="\udfff", value=1),
    ],
    ids=["nan", "inf", "below 0", "text", "name"],
)
def test_figures_that_cannot_be_shown_are_failures(figure: Figure) -> None:
    """JSON has no such numbers, nothing is counted below 0, and no encoding has half of a surrogate pair."""
    told([Figure(key=f"key_{number}", name="sound", value=None) for number in range(40)])
    with pytest.raises((ContradictionError, UnicodeEncodeError)):
        told([figure])


def test_more_figures_than_a_person_reads_are_a_failure() -> None:
    """40 are enough."""
    with pytest.raises(ContradictionError, match="41 figures"):
        told([Figure(key=f"key_{number}", name="sound", value=1) for number in range(41)])


def test_a_key_that_two_figures_of_the_same_thing_have_is_a_failure() -> None:
    """A program would take one of them; of two things it is the same key."""
    told([Figure(key="some", name="sound", value=1, of=of) for of in ("a", "b")])
    with pytest.raises(ContradictionError, match="same key"):
        told([Figure(key="some", name="sound", value=1, of=of) for of in ("a", "a")])


def test_failures_are_kept_with_their_inputs(tmp_path: Path) -> None:
    """Two files each; without failures there is not even the folder."""

    def read(content: bytes) -> None:
        raise IndexError(content)

    folder = tmp_path / "kept"
    keep(tally(lambda _: None), folder)
    assert not folder.exists()
    done = tally(read, inputs=1)
    keep(done, folder)
    assert (folder / "own-0.input").read_bytes() == done.kept[0].content
    assert "IndexError" in (folder / "own-0.txt").read_text()


def test_the_table_has_a_row_for_each_parser() -> None:
    """With what its inputs came to."""
    rows = table([Tally(name="ss", inputs=9, answers=4, errors=5, slowest_ms=1.25, slowest=3, growth_bytes=MIB)])
    assert [line.split("  ")[0] for line in rows.splitlines()] == ["parser", "ss"]
    assert rows.split()[-7:] == ["9", "4", "5", "0", "1.2", "(#3)", "1.0"]


def test_the_command_runs_the_parsers_that_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its exit status tells whether there was a failure."""
    arguments = ["softnet", "wrk", "--inputs", "20", "--keep", str(tmp_path)]
    assert main(arguments) == 0
    assert "softnet: 20 inputs, 0 failures\nwrk: 20 inputs, 0 failures\n" in capsys.readouterr().out

    def broken(content: bytes) -> None:
        raise OSError(content)

    monkeypatch.setitem(READERS, "wrk", broken)
    assert main(arguments) == 1
    assert "wrk: 20 inputs, 20 failures\n  OSError in test_fuzz.py" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["tcpdump"])
