"""Code for claims that are decided by counting: arms that start their own nginx, and effects computed from counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from tuneproof.catalogue.aa_control import aa_control
from tuneproof.lab.load.counted import Counted, CountedObservation, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lines import Line, lines_of
from tuneproof.proof.inference.effects import Ordered, Scale, Tally
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
    """An arm: a configuration, and a trial's script."""

    name: str  # name of the arm, and of its configuration
    config: str  # text of its nginx.conf (:func:`tuneproof.lab.subject.written_config.written_config`)
    script: Callable[[Rig], Figures]  # runs a trial, and returns its counts
    workers: int = 1  # how many workers must have started before the script runs
    counts_calls: bool = False  # whether system calls are counted
    starts: bool = True  # whether nginx is started
    sysctls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # in its network namespace
    every_cpu: bool = False  # whether nginx may run on every CPU


def arms_of(settings: Sequence[Setting]) -> tuple[Arm[CountedObservation], ...]:
    """Return the settings' arms: those that need the same container share it, even if their configurations differ."""
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
    """Return the effect: the figure of the first arm ÷ that of the second.

    Figures below ``at_least`` (default: one unit) are raised to it, so that zero can be a denominator. If both figures
    are zero, the effect is undefined (ValueError), since a broken measurement would show the same.
    """

    def effect(block: Mapping[str, CountedObservation]) -> float:
        first, second = (block[arm][figure] for arm in arms)
        if not first and not second:
            raise ValueError(f"no {figure} was counted in either arm")
        return max(first, at_least) / max(second, at_least)

    return effect


def usually(arm: str, figure: str) -> Callable[[Mapping[str, CountedObservation]], Tally]:
    """Return the effect: whether a share is above one half; each trial counts as one unit."""
    return lambda block: Tally.yes(when=block[arm][figure] > HALF)


_SHOWN: Final[Mapping[str, Callable[[Sequence[float]], bool]]] = {
    "above": lambda shares: all(share > HALF for share in shares),
    "any": lambda shares: any(share > HALF for share in shares),
    "below": lambda shares: not any(share > HALF for share in shares),
    "rising": lambda shares: all(one < next_ for one, next_ in pairwise(shares)),
}
"""Checks of a row's figures, by the condition that the row names."""


def usually_all(arm: str, figures: Sequence[str], shows: str) -> Callable[[Mapping[str, CountedObservation]], Tally]:
    """Return the effect: whether shares meet a row's condition; each trial counts as one unit."""
    shown = _SHOWN[shows]
    return lambda block: Tally.yes(when=shown([block[arm][figure] for figure in figures]))


Code = Mapping[str, Callable[..., Any]]
"""Functions by the names that rows use."""


def claims_of(
    scenario: str,
    *,
    code: Code = MappingProxyType({}),
    arms: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    **numbers: float,
) -> tuple[Claim[Any], ...]:
    """Return the claims of a scenario's rows (:mod:`tuneproof.lines`).

    Args:
        scenario: The scenario's name.
        code: The functions that the rows name.
        arms: The arms for which a name in the rows stands, if the host determines their real names.
        numbers: The numbers for which braces in the rows' texts stand.
    """
    rows = [
        replace(line, arms=tuple(name for each in line.arms for name in arms.get(each, (each,))))
        for line in lines_of(scenario)
        if line.arms
    ]
    controls = {line.claim: _claim(line, numbers, code) for line in rows if line.is_control}
    return tuple(
        replace(claim, control=controls[line.needs]) if line.needs else claim
        for line in rows
        if not line.is_control
        for claim in claims_from(line, code=code, **numbers)
    )


def claims_from(line: Line, *, code: Code = MappingProxyType({}), **numbers: float) -> Iterator[Claim[Any]]:
    """Yield the claim of one row and, if the row has one, the claim's control."""
    yield _claim(line, numbers, code)
    if line.control is not None:
        (arm,) = line.arms
        other = line.turned_by[arm]
        control = replace(
            line,
            claim=line.control["claim"],
            sentence=line.control["sentence"],
            source="control of the claim above",
            line="",
            arms=(other,),
            turned_by={other: arm},
            expected=Verdict.REFUTED if line.expected == Verdict.HOLDS else Verdict.HOLDS,
        )
        yield _claim(control, numbers, code)


def _claim(line: Line, numbers: Mapping[str, float], code: Code) -> Claim[Any]:
    if line.alike is not None:
        return _aa_control(line, code)
    what, is_counted = line.what.format(**numbers), not (line.value or line.effect)
    is_ratio = len(line.arms) > 1 and is_counted
    scale = line.scale or ("share" if line.compare == "difference" or (is_counted and not is_ratio) else "ratio")
    return Claim(
        name=line.claim,
        sentence=line.sentence.format(**numbers),
        source=line.source.format(COPIED=COPIED),
        arms=line.arms,
        effect=_effect(line, numbers, code),
        figure=line.figure if is_ratio or not is_counted else "",
        metric=line.metric,
        effect_name=f"{what}, {' ÷ '.join(line.arms)}" if is_ratio else what,
        scale=Scale.RATIO if scale == "ratio" else Scale.SHARE,
        threshold=USUALLY if line.threshold is None else line.threshold,
        why=(line.why or ONE_OR_THE_OTHER).format(**numbers),
        exploratory=line.exploratory,
        form=Form(line.form),
        condition=code[line.condition] if line.condition else None,
        condition_name=line.condition_name,
        further_looks=line.further_looks,
        subject_cpus=line.subject_cpus,
        expected=Verdict(line.expected) if line.expected else None,
        moderator=code[line.moderator] if line.moderator else None,
        table=code[line.table] if line.table else None,
        expired_since=line.version,
        expired_reason=line.expired_reason,
        by_build=line.by_build,
        since=line.since,
        module=line.module,
        turned_by=line.turned_by or ({line.arms[-1]: line.arms[0]} if is_counted else {}),
        line=line.line,
    )


def _aa_control(line: Line, code: Code) -> Claim[Any]:
    if line.alike is None:
        raise ValueError(f"{line.claim} is not an A/A control")
    return aa_control(
        line.claim,
        line.sentence,
        arms=(line.arms[0], line.arms[1]),
        value=_value(line, code),
        what=line.what,
        figure=line.figure,
        decides=line.alike,
    )


def _effect(line: Line, numbers: Mapping[str, float], code: Code) -> Callable[[Mapping[str, Any]], Any]:
    if line.effect:
        return code[line.effect]
    if line.value:
        return _compared(line, _value(line, code))
    if len(line.arms) > 1:
        return _ratio(line, numbers)
    if line.figures:
        return usually_all(line.arms[0], line.figures, line.shows)
    return usually(line.arms[0], line.figure)


def _value(line: Line, code: Code) -> Callable[[Any], float]:
    return code[line.value] if line.value in code else attrgetter(line.value)


def _compared(line: Line, value: Callable[[Any], float]) -> Callable[[Mapping[str, Any]], Any]:
    """Return the effect: the value in one arm, the difference or ratio between two, or the order of several."""
    arms = line.arms
    if line.form == Form.ORDER:
        return lambda block: Ordered(responses=tuple(value(block[arm]) for arm in arms))
    if len(arms) == 1:
        return lambda block: value(block[arms[0]])
    first, second = arms[:2]
    compared: dict[str, Callable[[Mapping[str, Any]], float]] = {
        "ratio": lambda block: value(block[first]) / value(block[second]),
        "inverse": lambda block: value(block[second]) / value(block[first]),
        "difference": lambda block: value(block[first]) - value(block[second]),
    }
    return compared[line.compare]


def _ratio(line: Line, numbers: Mapping[str, float]) -> Callable[[Mapping[str, CountedObservation]], float]:
    least, (first, second) = line.at_least, line.arms
    if isinstance(least, str):
        least = float(Fraction(least.format(**numbers)))
    return times(line.figure, (first, second), at_least=least)
