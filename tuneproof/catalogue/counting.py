"""What claims that are decided by counting share: arms that start an nginx of their own, and effects of counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from tuneproof.lab.load.counted import Counted, CountedObservation, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare

CountedClaim = Claim[CountedObservation]

COPIED: Final = "the most copied tuning lists"
HALF: Final = 0.5
USUALLY: Final = 0.5
ONE_OR_THE_OTHER: Final = "nginx does it in the same way every time: more often than not tells whether it does"


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


@dataclass(frozen=True, kw_only=True)
class Count:
    """A figure that is counted."""

    figure: str  # its name among those that a script returns
    what: str  # the figure in words


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


def more(  # noqa: PLR0913 - keyword-only; each is one part of a claim
    name: str,
    sentence: str,
    *,
    source: str,
    arms: tuple[str, str],
    count: Count,
    why: str,
    threshold: float = 2.0,
    at_least: float = 1.0,
    expected: Verdict | None = Verdict.HOLDS,
    expired_since: str = "",
    expired_reason: str = "",
    form: Form = Form.MORE,
    turned_by: Mapping[str, str] | None = None,
    line: str = "",
) -> CountedClaim:
    """Return the claim that the first arm has several times as much of a figure as the second.

    What is less than ``at_least`` is taken for that. The first arm in the place of the second turns the claim, unless
    ``turned_by`` says otherwise; the rest is as in :class:`tuneproof.proof.scenario.claims.Claim`.
    """
    return CountedClaim(
        name=name,
        sentence=sentence,
        source=source,
        arms=arms,
        effect=times(count.figure, arms, at_least=at_least),
        figure=count.figure,
        effect_name=f"{count.what}, {arms[0]} ÷ {arms[1]}",
        scale=Scale.RATIO,
        threshold=threshold,
        why=why,
        expected=expected,
        expired_since=expired_since,
        expired_reason=expired_reason,
        form=form,
        turned_by={arms[1]: arms[0]} if turned_by is None else turned_by,
        line=line,
    )


def usual(  # noqa: PLR0913 - likewise
    name: str,
    sentence: str,
    *,
    source: str,
    arm: str,
    figure: str,
    what: str,
    turned_by: str,
    expected: Verdict | None = Verdict.HOLDS,
    expired_since: str = "",
    expired_reason: str = "",
    line: str = "",
) -> CountedClaim:
    """Return the claim that a share is above one half in most trials. A trial is one unit, whatever it counted.

    ``what`` says in which trials, such as "trials in which nginx says a word".
    ``turned_by`` is the arm in whose place it comes out the other way; the rest as for :func:`more`.
    """
    return CountedClaim(
        name=name,
        sentence=sentence,
        source=source,
        arms=(arm,),
        effect=lambda block: Tally.yes(when=block[arm][figure] > HALF),
        effect_name=what,
        scale=Scale.SHARE,
        threshold=USUALLY,
        why=ONE_OR_THE_OTHER,
        expected=expected,
        expired_since=expired_since,
        expired_reason=expired_reason,
        turned_by={arm: turned_by},
        line=line,
    )


def both_ways(  # noqa: PLR0913 - likewise
    name: str,
    sentence: str,
    *,
    control: tuple[str, str],
    source: str,
    arm: str,
    figure: str,
    what: str,
    turned_by: str,
    expected: Verdict = Verdict.HOLDS,
    line: str = "",
) -> tuple[CountedClaim, CountedClaim]:
    """Return a claim as of :func:`usual`, and its control: that the same is so in the arm that turns it.

    ``control`` is the control's name, and its sentence. The other verdict is expected of it.
    """
    other = Verdict.REFUTED if expected is Verdict.HOLDS else Verdict.HOLDS
    return (
        usual(
            name,
            sentence,
            source=source,
            arm=arm,
            figure=figure,
            what=what,
            turned_by=turned_by,
            expected=expected,
            line=line,
        ),
        usual(
            *control,
            source="control of the one above",
            arm=turned_by,
            figure=figure,
            what=what,
            turned_by=arm,
            expected=other,
        ),
    )
