"""A fake lab with canned trials; each trial advances the clock."""

import json
import types
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.canned_trials import outcome, stall_record
from tuneproof.errors import TuneproofError
from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation, StallRecord
from tuneproof.lab.network.links import NetworkProfile
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario import measurement
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.host_noise import Patience
from tuneproof.proof.scenario.measurement import Decider, Measurement
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.keys import Key
from tuneproof.report.results.run_file import ResultsWriter

if TYPE_CHECKING:
    from tuneproof.proof.scenario.bench import Bench

LAB = Key("stall", "", "1.22", BARE.name)
SUBJECT = Subject(name="subject", config=SubjectConfig(upstream="backend:8000"))
TRIAL_SECONDS = 3.0
# This trial is void: it did not load the subject as intended.
SPOILT = stall_record(bulk=(10, 0), ended_early=2)

Canned = Callable[[str, int], StallRecord]
_NO_FILES: Mapping[str, bytes] = MappingProxyType({})


class FakeBench:
    """Behaves like the bench of one subject.

    Args:
        canned: Returns the record for an arm and a trial's number within the arm, from 1; its exceptions end the trial.
        links: The shaped and measured links, if any.
        files: Returns further files of a trial, by its number within its arm.
    """

    def __init__(
        self, canned: Canned, *, links: Any = None, files: Callable[[int], Mapping[str, bytes]] = lambda _: _NO_FILES
    ) -> None:
        self._canned = canned
        self._files = files
        self.trials: list[str] = []
        self.now_s = 1000.0
        self.preconditions = {SUBJECT.name: {"nginx": "1.22", "workers": 2}}
        self.log = ""
        self.links = links
        self.subjects = {SUBJECT.name: SUBJECT}
        self.failures: list[TuneproofError] = []

    def renew(self, error: TuneproofError) -> "Bench":
        """Return a bench that continues after a failure, with a new access log."""
        self.failures.append(error)
        self.log = ""
        return cast("Bench", self)

    def run(self, arm: Arm[StallObservation], *, label: str) -> Outcome[StallRecord]:
        self.now_s += TRIAL_SECONDS
        self.trials.append(arm.name)
        self.log += access_line("/small.bin", label) + access_line("/bulk.bin", label, body_bytes=7)
        number = self.trials.count(arm.name)
        return outcome(self._canned(arm.name, number), files=self._files(number))

    def lost_cpu_pct(self) -> float:
        return 0.0

    def access_log(self, subject: str) -> str:
        assert subject == SUBJECT.name
        return self.log


def access_line(path: str, trial: str, *, body_bytes: int = 3_602_590) -> str:
    return (
        f'172.18.0.3 [20/Nov/2025:10:00:00 +0000] "GET {path} HTTP/1.1" status=200 body_bytes_sent={body_bytes} '
        f'rt=0.010 uct="0.000" uht="0.001" urt="0.010" pid=11 connection=1 trial="{trial}"\n'
    )


def arm(name: str, *, subject: Subject = SUBJECT) -> Arm[StallObservation]:
    return Arm(name=name, subject=subject, plan=StallLoad())


def claim(
    name: str, *arms: str, control: Claim[StallObservation] | None = None, **changes: Any
) -> Claim[StallObservation]:
    """Return the claim that, in the first arm, the loaded worker's median lag exceeds 5 times the idle worker's."""
    fields: dict[str, Any] = {
        "name": name,
        "sentence": f"{name} is so",
        "source": "an article",
        "arms": arms,
        "effect": lambda block: block[arms[0]].workers[0].lag_p50_ms / block[arms[0]].workers[1].lag_p50_ms,
        "effect_name": "median lag, loaded ÷ idle",
        "scale": Scale.RATIO,
        "threshold": 5.0,
        "why": "the article's figure",
        "control": control,
    }
    return Claim(**{**fields, **changes})


class Deciding:
    """Decides claims on canned benches, and reads the files of the cells."""

    def __init__(self, writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writer = writer
        self._monkeypatch = monkeypatch

    def __call__(
        self,
        canned: "Canned | FakeBench",
        *arms: str,
        network: NetworkProfile = BARE,
        subject: Subject = SUBJECT,
        **changes: Any,
    ) -> Cell:
        """Return the cell of the claim "stall"; its default arm is "loaded"."""
        bench = canned if isinstance(canned, FakeBench) else FakeBench(canned)
        asked = claim("stall", *(arms or ("loaded",)), **changes)
        lab = LAB._replace(network=network.name)
        return self.measuring(bench, asked, network=network, subject=subject, lab=lab).decide(asked)

    def measuring(
        self,
        bench: FakeBench,
        *claims: Claim[StallObservation],
        setup_s: float = 0.0,
        network: NetworkProfile = BARE,
        subject: Subject = SUBJECT,
        lab: Key = LAB,
    ) -> Decider:
        """Return the decider of claims on the bench, with the bench's clock."""
        self._monkeypatch.setattr(measurement, "time", types.SimpleNamespace(monotonic=lambda: bench.now_s))
        names = {name for item in claims for name in item.needed_arms}
        running = Measurement(
            bench=cast("Bench", bench),
            arms=[arm(name, subject=subject) for name in sorted(names)],
            claims=claims,
            looks=LOOKS[QUICK],
            seed=1,
            lab=lab,
            network=network,
            writer=self.writer,
            progress=lambda _: None,
            setup_s=setup_s,
            patience=Patience(),
            renew=bench.renew,
        )
        return Decider(lab, network, writer=self.writer, unable={}, measurement=running)

    def texts(self, cell: Cell) -> dict[str, str]:
        """Return the files of a cell's own folder, by name."""
        folder = (self.writer.folder / cell.evidence[0]).parent
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}

    def samples(self, cell: Cell) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.texts(cell)["samples.jsonl"].splitlines()]


def stalled(_arm: str, number: int) -> StallRecord:
    """Worker 1 lags about 20 times as much as worker 2."""
    return stall_record(lags_ms=([20.0 + number % 3], [1.0]), bulk=(100, 0), fast_ms=[5.0], baseline_ms=[4.0])


def calm(_arm: str, number: int) -> StallRecord:
    """Both workers answer about equally fast."""
    return stall_record(lags_ms=([1.0 + 0.1 * (number % 3)], [1.0]))
