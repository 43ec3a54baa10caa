"""What claims that are decided by counting share: arms that start an nginx of their own, and effects of counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from tuneproof.lab.load.counted import Counted, CountedObservation, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lines import Line, lines_of
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare

CountedClaim = Claim[CountedObservation]

COPIED: Final = "the most copied tuning lists"
HALF: Final = 0.5
USUALLY: Final = 0.5
ONE_OR_THE_OTHER: Final = "nginx behaves the same way every time, so a majority of trials decides"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An arm: a configuration, and what a trial does with it."""

    name: str  # of the arm, and of its configuration
    config: str  # text of its nginx.conf (:func:`tuneproof.lab.subject.written_config.written_config`)
    script: Callable[[Rig], Figures]  # does what a trial does, and returns what it counted
    workers: int = 1  # how many nginx has
    counts_calls: bool = False  # whether system calls are counted
    starts: bool = True  # whether nginx is started
    sysctls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # of its network namespace
    every_cpu: bool = False  # whether it may run on every CPU


def arms_of(settings: Sequence[Setting]) -> tuple[Arm[CountedObservation], ...]:
    """Return the arms of settings: those that need the same container share it, whichever configuration they start."""
    groups: dict[str, list[Setting]] = {}
    for setting in settings:
        parts = [f"{name.rpartition('.')[2]}-{value}" for name, value in setting.sysctls.items()]
        place = ["every-cpu"] if setting.every_cpu else []
        groups.setdefault("-".join(["subject", *place, *parts]).replace(" ", "-"), []).append(setting)
    arms = []
    for subject_name, group in groups.items():
        subject = Subject(
            name=subject_name,
            config=SubjectConfig(access_log=False),
            sysctls=group[0].sysctls,
            cpus=CpuShare.EVERY if group[0].every_cpu else CpuShare.FIRST,
            configurations={setting.name: setting.config for setting in group},
        )
        arms += [Arm(name=setting.name, subject=subject, plan=_plan(setting)) for setting in group]
    by_name = {arm.name: arm for arm in arms}
    return tuple(by_name[setting.name] for setting in settings)


def _plan(setting: Setting) -> Counted:
    return Counted(
        configuration=setting.name,
        script=setting.script,
        workers=setting.workers,
        counts_calls=setting.counts_calls,
        starts=setting.starts,
    )


def times(
    figure: str, arms: tuple[str, str], *, at_least: float = 1.0
) -> Callable[[Mapping[str, CountedObservation]], float]:
    """Return the effect: how many times as much of a figure the first arm has as the second.

    Less than ``at_least`` (one of what is counted) is taken for that, so that none at all can stand below. None in both
    arms is no effect, since a broken instrument would show the same.
    """

    def effect(block: Mapping[str, CountedObservation]) -> float:
        first, second = (block[arm][figure] for arm in arms)
        if not first and not second:
            raise ValueError(f"no {figure} was counted in either arm")
        return max(first, at_least) / max(second, at_least)

    return effect


def usually(arm: str, figure: str) -> Callable[[Mapping[str, CountedObservation]], Tally]:
    """Return the effect: whether a share is above one half. A trial is one unit, whatever it counted."""
    return lambda block: Tally.yes(when=block[arm][figure] > HALF)


def claims_of(scenario: str, **numbers: float) -> tuple[CountedClaim, ...]:
    """Return the claims of a scenario's rows (:mod:`tuneproof.lines`), with the numbers that their words name."""
    return tuple(claim for line in lines_of(scenario) if line.arms for claim in claims_from(line, **numbers))


def claims_from(line: Line, **numbers: float) -> Iterator[CountedClaim]:
    """Yield the claim of one row, and its control."""
    yield _claim(line, numbers)
    if line.control is not None:
        (arm,) = line.arms
        other = line.turned_by[arm]
        control = replace(
            line,
            claim=line.control["claim"],
            sentence=line.control["sentence"],
            source="control of the one above",
            line="",
            arms=(other,),
            turned_by={other: arm},
            expected=Verdict.REFUTED if line.expected == Verdict.HOLDS else Verdict.HOLDS,
        )
        yield _claim(control, numbers)


def _claim(line: Line, numbers: Mapping[str, float]) -> CountedClaim:
    what, is_ratio = line.what.format(**numbers), len(line.arms) > 1
    return CountedClaim(
        name=line.claim,
        sentence=line.sentence.format(**numbers),
        source=line.source.format(COPIED=COPIED),
        arms=line.arms,
        effect=_ratio(line, numbers) if is_ratio else usually(line.arms[0], line.figure),
        figure=line.figure if is_ratio else "",
        effect_name=f"{what}, {' ÷ '.join(line.arms)}" if is_ratio else what,
        scale=Scale.RATIO if is_ratio else Scale.SHARE,
        threshold=line.threshold or USUALLY,
        why=line.why or ONE_OR_THE_OTHER,
        form=Form(line.form),
        expected=Verdict(line.expected),
        expired_since=line.version,
        expired_reason=line.expired_reason,
        since=line.since,
        turned_by=line.turned_by or {line.arms[-1]: line.arms[0]},
        line=line.line,
    )


def _ratio(line: Line, numbers: Mapping[str, float]) -> Callable[[Mapping[str, CountedObservation]], float]:
    least, (first, second) = line.at_least, line.arms
    if isinstance(least, str):
        least = float(Fraction(least.format(**numbers)))
    return times(line.figure, (first, second), at_least=least)
