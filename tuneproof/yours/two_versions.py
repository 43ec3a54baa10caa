"""Starts two versions of nginx side by side on the same files, and compares them in rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tuneproof.errors import LabError
from tuneproof.lab.load.counted import Counted, CountedObservation, Figures
from tuneproof.lab.load.stage import CLIENT
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.topology.lab import Lab
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.experiment import block_order
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.bench import Bench
from tuneproof.proof.scenario.containers import OwnNginxError
from tuneproof.proof.scenario.evidence import Evidence
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.cells import Cell, Effect
from tuneproof.report.results.keys import UNSHAPED, Key
from tuneproof.report.results.run_file import ResultsWriter
from tuneproof.yours.compared import USUALLY, Comparison, compared
from tuneproof.yours.grounds import Grounds
from tuneproof.yours.looks import Look, looks_of, warnings_in
from tuneproof.yours.proposal import Prepared
from tuneproof.yours.routes import Probe

NAME: Final = "upgrade"
ROUNDS: Final = LOOKS[QUICK][0]
_START: Final = "start"
# Two containers per version, since containers also differ in addresses and host names.
_TWINS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two versions."""

    version: str
    image: str  # full name of the image with nginx
    prepared: Prepared
    records_turns: bool  # whether the image can record loop iterations

    @property
    def label(self) -> str:
        """The version's name in results."""
        return f"nginx {self.version}"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The outcome of a comparison."""

    comparisons: tuple[Comparison, ...] = ()
    void: Mapping[str, str] = field(default_factory=dict)  # why some comparisons were not possible, by place
    shallow: Mapping[str, str] = field(default_factory=dict)
    """Why upstream connections, caches and slow readers were not compared at some places, by place."""
    refused: tuple[str, str] = ("", "")  # for the old and the new version: the message if it does not start, or empty


def compare(
    old: Side,
    new: Side,
    probes: Sequence[Probe],
    grounds: Grounds,
    *,
    seed: int,
    writer: ResultsWriter,
    report: Callable[[str], None],
) -> Compared:
    """Start both versions, and compare them in rounds.

    Raises LabError: The lab failed. EngineUnavailableError: The engine went away.
    """
    records_turns = old.records_turns and new.records_turns
    sides = {"old": old, "new": new}
    looks = list(looks_of(probes, old.prepared.routes, records_turns=records_turns))
    subjects = {
        name: [_subject(f"{name}-{number}", side, records_turns=records_turns) for number in range(_TWINS)]
        for name, side in sides.items()
    }
    with Lab(grounds.session) as lab:
        try:
            bench = _bench(lab, old, looks, [one for twins in subjects.values() for one in twins], grounds)
        except OwnNginxError:
            bench = None
        if bench is not None:
            evidence = Evidence(bench, writer, lab=Key(NAME, "", new.version, UNSHAPED).id)
            rounds = Rounds(bench, looks, subjects, evidence, report=report)
            for number in range(1, ROUNDS + 1):
                rounds.run(number, seed=seed)
            found = rounds.compared()
            for cell in _cells(found.comparisons, old, new):
                writer.append(cell)
            return found
    words = [
        _words(side, twins[0], looks, grounds) for side, twins in zip(sides.values(), subjects.values(), strict=True)
    ]
    if not any(words):
        raise LabError("each version starts alone with these files, but both do not start together", remedy="try again")
    return Compared(refused=(words[0], words[1]))


def _subject(name: str, side: Side, *, records_turns: bool) -> Subject:
    subject = side.prepared.subject
    own = None if subject.own is None else replace(subject.own, image=side.image)
    return replace(subject, name=name, own=own, records_turns=records_turns)


def _arm(look: Look, number: int, subject: Subject) -> Arm[CountedObservation]:
    return Arm(name=f"{number}-{subject.name}", subject=subject, plan=Counted(script=look.script, starts=False))


def _bench(lab: Lab, side: Side, looks: Sequence[Look], subjects: Sequence[Subject], grounds: Grounds) -> Bench:
    arms = [_arm(look, number, subject) for subject in subjects for number, look in enumerate(looks)]
    scenario = Scenario(
        name=NAME,
        arms=tuple(arms),
        claims=(),
        backends=(side.prepared.standin,),
        beside=(CLIENT,),
        many_clients=True,
    )
    return Bench(
        lab,
        scenario=scenario,
        arms=arms,
        nginx=side.version,
        images=grounds.images,
        placement=grounds.placement,
        trusts=grounds.trusts,
    )


def _words(side: Side, subject: Subject, looks: Sequence[Look], grounds: Grounds) -> str:
    """Return the message of a version that does not start alone; empty if it starts."""
    with Lab(grounds.session) as lab:
        try:
            _bench(lab, side, looks[:1], [subject], grounds)
        except OwnNginxError as error:
            return error.tail or error.what
    return ""


class Rounds:
    """Compares both versions, round by round."""

    def __init__(
        self,
        bench: Bench,
        looks: Sequence[Look],
        subjects: Mapping[str, Sequence[Subject]],
        evidence: Evidence,
        *,
        report: Callable[[str], None],
    ) -> None:
        self._bench = bench
        self._looks = looks
        self._subjects = subjects
        self._evidence = evidence
        self._report = report
        self._seen: dict[int, dict[str, list[Figures]]] = {
            number: {side: [] for side in subjects} for number in range(len(looks))
        }
        self._warned: dict[str, list[Figures]] = {side: [] for side in subjects}
        self._void: dict[int, str] = {}

    def run(self, block: int, *, seed: int) -> None:
        """Make every comparison once on both versions, in random order; rounds use a version's containers in turn."""
        for side, twins in self._subjects.items():
            log = self._bench.stage(twins[block % _TWINS].name).subject.logs()
            self._warned[side].append(warnings_in(log))
        for number, look in enumerate(self._looks):
            if number in self._void:
                continue
            self._report(f"round {block} of {ROUNDS}, {number + 1} of {len(self._looks)}: {look.at}")
            for side in block_order(tuple(self._subjects), seed=seed, block=block * len(self._looks) + number):
                figures = self._trial(_arm(look, number, self._subjects[side][block % _TWINS]), block, number, side)
                if figures is None:
                    break
                self._seen[number][side].append(figures)

    def _trial(self, arm: Arm[CountedObservation], block: int, number: int, side: str) -> Figures | None:
        """Return the observations in a trial; None if its repetition fails as well."""
        for label in (f"{arm.name}-b{block}", f"{arm.name}-b{block}-again"):
            try:
                outcome = self._bench.run(arm, label=label)
            except VoidTrialError as error:
                self._void[number] = f"{error.what}, on the {side} version"
                self._evidence.keep(None, arm=arm.name, block=block, label=label, void_reasons=(error.what,))
            else:
                self._void.pop(number, None)
                self._evidence.keep(outcome, arm=arm.name, block=block, label=label, void_reasons=())
                figures: Figures = outcome.record.figures
                return figures
        return None

    def compared(self) -> Compared:
        """Compare the observations from all rounds."""
        found = compared("its start", self._warned["old"], self._warned["new"])
        for number, look in enumerate(self._looks):
            if number not in self._void:
                found += compared(look.at, self._seen[number]["old"], self._seen[number]["new"])
        void: dict[str, str] = {}
        for number, why in self._void.items():
            void.setdefault(self._looks[number].at, why)
        return Compared(comparisons=tuple(found), void=void)


def _reason(one: Comparison) -> str:
    if one.differs:
        return f"{one.before} -> {one.after}"
    counted = one.assessment.counted
    seen = counted.count if counted else 0
    return f"in {seen} of {ROUNDS} rounds only: {one.before} -> {one.after}" if seen else ""


def _cells(found: Sequence[Comparison], old: Side, new: Side) -> Iterator[Cell]:
    for number, one in enumerate(found):
        interval, counted = one.assessment.interval, one.assessment.counted
        effect = Effect(
            name="rounds in which it differs",
            unit="share",
            value=interval.value,
            ci_low=interval.low,
            ci_high=interval.high,
            count=counted.count if counted else None,
            of=counted.of if counted else None,
            level=interval.level,
        )
        yield Cell(
            id=Key(NAME, str(number), new.version, UNSHAPED).id,
            name=f"comparison_{number}",
            scenario=NAME,
            claim=f"{one.what}, at {one.at}: not the same as on nginx {old.version}",
            source=f"nginx {old.version} and {new.version} side by side",
            nginx=new.version,
            network=UNSHAPED,
            verdict=one.assessment.verdict.value,
            expected=None,
            threshold=USUALLY,
            effect=effect,
            arms={"old": one.figures[0], "new": one.figures[1]},
            blocks=ROUNDS,
            void_blocks=0,
            seconds=0.0,
            measuring_seconds=0.0,
            evidence=(),
            reason=_reason(one),
        )
