"""Lines that people copy, as data: each line of advice is a row, from which its claim and its audit rule are made.

Each scenario has a file. Its table ``figures`` describes each counted figure; its rows become :class:`Line` objects,
each with its :class:`Concern` objects. Braces in a sentence stand for numbers from the scenario's scripts.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from tuneproof.nginx_changes import since

DOCUMENTED: Final = "configuration"
"""The file of rows without a claim: nginx documents them."""
_SUFFIX: Final = ".toml"


@dataclass(frozen=True, kw_only=True)
class Concern:
    """A finding of the audit, and its conditions.

    It concerns each matching directive, or each ``block`` in which something is missing ("main": outside all blocks).
    It applies from the row's ``since`` on, and from the version that made the advice unnecessary, if the row has them;
    ``{version}`` in its text is the latter.
    """

    state: str  # one of :class:`tuneproof.audit.advice.State`
    why: str
    directive: str = ""  # or several, such as "proxy_pass|grpc_pass"; ``{kind}`` in ``why`` is then "proxy" or "grpc"
    block: str = ""
    args: str = ".*"  # regular expression for all of the directive's arguments
    value: str = ""  # bounds of one argument, such as "> 0, <= 30s"
    place: int = 0  # index of that argument
    inside: str = ""  # the outermost block of its directive, such as "stream"; default: http, events, mail or none
    outside: str = ""  # a block in which it does not apply, such as "upstream"
    until: str = ""  # the version that fixed the problem
    where: str = ""
    """A further condition: a setting in effect there or in an inner block, such as "sendfile on", as a regular
    expression; or a name of tuneproof.audit.conditions."""
    unless: str = ""  # a condition that must not hold, in the same form
    patch: str | None = None
    """The replacement for the directive, or the addition to the block: ``{arg}`` is the block's argument, and
    ``{kind}`` the module of the directive, or the one that proxies the block's requests. "" removes the directive;
    "=name" is one of tuneproof.audit.remedies."""
    breaks: bool = False  # whether requests fail or protection is lost; otherwise it costs something
    routine: bool = False  # whether it applies to nearly every configuration
    source: str = ""  # nginx's documentation, if there is no claim
    check: str = ""  # the command that shows the fact it depends on
    measured: str = ""  # the measured value, if the finding also covers others
    trips: tuple[str, ...]
    """Configurations that must have this finding exactly once: the content of http{}, or a complete one with
    events{}."""
    spares: tuple[str, ...] = ()  # configurations that must not have it

    @property
    def directives(self) -> tuple[str, ...]:
        """Names of its directives, the best-known one first."""
        return tuple(self.directive.split("|"))


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of advice: its claim, what decides the claim, and its audit findings.

    With one arm, the figure is above one half in most trials, or several figures meet ``shows``. With two arms, the
    first has more than ``threshold`` times the second's figure; or ``value`` and ``compare`` name what is compared. If
    that needs code, fields such as ``effect`` name a function of the scenario's module. A row without arms belongs to a
    claim that the catalogue declares itself, or, in the file ``DOCUMENTED``, to no claim.
    """

    scenario: str
    claim: str
    sentence: str = ""
    source: str = ""  # the source of the advice, with its headline figure
    line: str = ""  # as in copied configurations
    arms: tuple[str, ...] = ()
    figure: str = ""  # a figure that the arms' script returns
    figures: tuple[str, ...] = ()  # for one arm: several figures instead of one
    shows: str = "above"
    """The claim about ``figures``: all are "above" one half, or "any" is, or none ("below"); or each is larger than the
    previous one ("rising")."""
    what: str = ""  # the figure in words
    value: str = ""  # the compared value: a property of an observation, or a function of the scenario's module
    compare: str = "ratio"  # ratio of the first two arms; or "inverse", the second ÷ the first; or "difference"
    alike: float | None = None
    """For an A/A control, which claims that ``value`` is the same in two identical arms: the threshold nearest to 1 of
    all claims that depend on it."""
    effect: str = ""  # a function of the module that returns the effect of a block
    condition: str = ""  # a function that decides whether a block meets the claim's condition
    condition_name: str = ""  # the condition in words
    moderator: str = ""  # a function that returns what decides the claim on this host
    table: str = ""  # a function that returns lines to show next to the verdict
    metric: str = ""  # the metric that the effect is computed from, if it is not ``figure``
    scale: str = ""  # "ratio" or "share", for an effect that code returns
    needs: str = ""  # the control that must hold, a row with ``is_control``
    is_control: bool = False  # whether it is decided only for claims that need it
    further_looks: tuple[int, ...] = ()  # numbers of rounds for additional looks
    subject_cpus: int = 1  # minimum number of CPUs for nginx
    form: str = "more"  # or "same", "order"
    threshold: float | None = None  # the effect must exceed it; default: 0.5, half of the trials
    why: str = ""  # the reason for the threshold: the source's figure, or what matters to users
    at_least: float | str = 1.0  # smaller figures count as this, so that zero can be a denominator; or "1/20"
    exploratory: str = ""  # what was chosen after measuring, and how
    expected: str = "holds"  # or "refuted"; "" if hosts legitimately differ
    by_build: str = ""  # why the lab's build of mainline gives the other verdict, if the build decides it
    since: str = ""  # the version that introduced what it is about; older ones cannot test it
    module: str = ""  # the module that it is about, if the lab's build of mainline lacks it
    expired_since: str = ""  # the version that made the advice unnecessary
    expired_by: tuple[str, ...] = ()  # or the change that did so: kind and directive, as in nginx_changes
    expired_reason: str = ""
    turned_by: Mapping[str, str] = field(default_factory=dict)
    """For an arm, another one that reverses the verdict in its place; default for figures: the first arm for the
    last."""
    control: Mapping[str, str] | None = None
    """Name and sentence of the control: the same claim about the arm that reverses this one, with the other verdict."""
    audit: tuple[Concern, ...] = ()

    @property
    def version(self) -> str:
        """The version that made the advice unnecessary; empty for none."""
        return since(*self.expired_by) if self.expired_by else self.expired_since


@cache
def lines_of(scenario: str) -> tuple[Line, ...]:
    """Return the rows of a scenario, in their order.

    Raises ValueError: A row has an unknown key, lacks a key, or names a figure that the file does not describe; the
    error names it.
    """
    text = resources.files(__package__).joinpath(f"{scenario}{_SUFFIX}").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    figures = content.get("figures", {})
    return tuple(_line(row, scenario, figures) for row in content["line"])


def line_of(scenario: str, claim: str) -> Line:
    """Return the row of one claim."""
    return next(line for line in lines_of(scenario) if line.claim == claim)


@cache
def every_line() -> tuple[Line, ...]:
    """Return all rows."""
    names = sorted(file.name for file in resources.files(__package__).iterdir() if file.name.endswith(_SUFFIX))
    return tuple(line for name in names for line in lines_of(name.removesuffix(_SUFFIX)))


def _line(row: dict[str, Any], scenario: str, figures: Mapping[str, str]) -> Line:
    figure = row.get("figure", "")
    where = f"tuneproof/lines/{scenario}{_SUFFIX}, {row.get('claim', 'a line without a claim')}"
    if figure and figure not in figures and "what" not in row:
        raise ValueError(f"{where}: no figure {figure!r} in [figures]; it has {', '.join(figures)}")
    try:
        fields = {
            "what": figures.get(figure, ""),
            **row,
            **_tuples(row, "arms", "figures", "further_looks", "expired_by"),
            "audit": tuple(
                Concern(**{**concern, **_tuples(concern, "trips", "spares")}) for concern in row.get("audit", ())
            ),
        }
        return Line(scenario=scenario, **fields)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _tuples(row: Mapping[str, Any], *names: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(row[name]) for name in names if name in row}
