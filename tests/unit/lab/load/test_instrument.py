"""The check of the loop probe: it counts the stops of a worker, and on a noisy host, too."""

import threading
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.canned_trials import stall_record, window_of
from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.lab.load.instrument import check_loop_probe
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.messages import Answered, Call
from tuneproof.lab.protocol.stall import Trial, Went

if TYPE_CHECKING:
    from tuneproof.lab.load.stage import Stage

CALM = ([1.0], [1.0])
# Eight stops of 80 ms, each met by one probe, and what lies between them.
SEEN = [75.0, 78.0, 71.0, 79.0, 74.0, 77.0, 72.0, 76.0] + [1.0] * 40


class Instrument:
    """A subject with two workers, and the probe that looks at them.

    Args:
        lags_ms: Lags of both workers that the probe sees while one of them is stopped.
        stop: Happens when the workers' signals are to be sent.
        measure: Happens while the probe measures.
    """

    def __init__(
        self,
        lags_ms: tuple[Sequence[float], Sequence[float]] = CALM,
        *,
        stop: Callable[[], object] = lambda: None,
        measure: Callable[[], object] = lambda: None,
    ) -> None:
        self._lags_ms = lags_ms
        self._stop = stop
        self._measure = measure
        self.plans: list[Trial] = []
        self.commands: list[Sequence[str]] = []

    @property
    def stage(self) -> "Stage":
        """Its stage."""
        return cast(
            "Stage",
            types.SimpleNamespace(
                lab=types.SimpleNamespace(is_placed=False),
                programs=types.SimpleNamespace(loadgen=self, prober=None),
                subject=self,
                address="172.18.0.2",
                port=8000,
            ),
        )

    def timed(self, asked: Call[Any]) -> Answered[float]:
        """Prepare a trial as the load generators do."""
        assert asked.function == "prepare"
        self.plans.append(asked.arguments["trial"])
        return Answered(answer=100.0, took_s=0.0, machine=MachineShares())

    def ask(self, asked: Call[Any]) -> Went:
        """Run its window."""
        assert asked.function == "go"
        if self.plans[-1].trial != "instrument":
            return Went(window=window_of(stall_record()))
        self._measure()
        return Went(window=window_of(stall_record(lags_ms=self._lags_ms)))

    def run(self, command: Sequence[str]) -> bytes:
        """Take a command for the subject's container."""
        self._stop()
        self.commands.append(command)
        return b""


def test_a_worker_whose_stops_are_seen_passes() -> None:
    """What counts are the long waits; how many short ones there are between them does not."""
    assert check_loop_probe(Instrument((SEEN, [2.0] * 80)).stage) == 8


def test_a_noisy_host_hides_nothing() -> None:
    """Gaps of the host on both workers, most of them short and some long; a stop that was missed."""
    gaps_ms = [5.0, 12.0, 15.0, 30.0] * 5
    stopped = [*SEEN[1:], *gaps_ms, 60.0]
    assert check_loop_probe(Instrument((stopped, [*gaps_ms, 50.0, 70.0, 55.0])).stage) == 8


def test_the_first_worker_is_stopped_and_always_continued() -> None:
    """Every stop is followed by its end: a worker that stays stopped would spoil all that follows."""
    instrument = Instrument((SEEN, [1.0]))
    check_loop_probe(instrument.stage)
    (command,) = instrument.commands
    shell, option, script = command
    assert (shell, option) == ("sh", "-c")
    turns = [step.strip() for step in script.split(";") if step.strip()]
    signals = [step for step in turns if step.startswith("kill")]
    assert signals == ["kill -STOP 11", "kill -CONT 11"] * 8
    pauses_s = [float(step.removeprefix("sleep ")) for step in turns if step.startswith("sleep")]
    assert len(pauses_s) == len(signals)
    assert sum(pauses_s) < instrument.plans[-1].measure_s, "all stops lie within the window"


def test_the_worker_is_stopped_while_the_probe_measures() -> None:
    """Each waits for the other here: one after the other, neither would come to its end."""
    both = threading.Barrier(2, timeout=5)
    instrument = Instrument((SEEN, [1.0]), stop=both.wait, measure=both.wait)
    check_loop_probe(instrument.stage)
    assert not both.broken


def test_nothing_but_the_probe_runs_meanwhile() -> None:
    """Bulk downloads would stall a worker by themselves."""
    instrument = Instrument((SEEN, [1.0]))
    check_loop_probe(instrument.stage)
    assert [plan.trial for plan in instrument.plans] == ["instrument-warm-up", "instrument"]
    assert all(plan.bulk_per_worker == (0, 0) and plan.fast_rate_hz == 0 for plan in instrument.plans)


@pytest.mark.parametrize(
    ("lags_ms", "seen"),
    [
        (CALM, "0 on the stopped worker, and 0 on the other"),
        (([47.0] * 8, [1.0]), "0 on the stopped worker, and 0 on the other"),
        (([75.0] * 5, [1.0]), "5 on the stopped worker, and 0 on the other"),
        (([1.0], SEEN), "0 on the stopped worker, and 8 on the other"),
        ((SEEN, [60.0] * 5), "8 on the stopped worker, and 5 on the other"),
    ],
    ids=["unseen", "too-short", "too-few", "wrong-worker", "both-workers"],
)
def test_a_probe_that_does_not_see_the_stops_cannot_be_used_here(
    lags_ms: tuple[Sequence[float], Sequence[float]], seen: str
) -> None:
    """Claims about a lag that it cannot see would be about nothing; the message has the figures."""
    with pytest.raises(CannotRunHereError, match=f"of 8 stops of 80 ms it showed {seen}"):
        check_loop_probe(Instrument(lags_ms).stage)


def test_a_worker_that_cannot_be_stopped_is_an_error_and_no_property_of_the_probe() -> None:
    """What the probe saw then says nothing, whichever way it looks."""

    def refuse() -> None:
        raise LabError("sh -c kill ended with status 1")

    with pytest.raises(LabError, match="ended with status 1"):
        check_loop_probe(Instrument((SEEN, [1.0]), stop=refuse).stage)
