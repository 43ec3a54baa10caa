"""What people copy, as data: each line of advice is a row, from which its claim and its rule of the audit are made.

A file per scenario. Its table ``figures`` says in words what each counted figure is; its rows are those of
:class:`Line`, and below each row are its :class:`Concern`. Braces in a sentence are numbers of the scenario's scripts.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from tuneproof.nginx_changes import since

DOCUMENTED: Final = "configuration"
"""The file of rows that no claim measures: nginx documents them."""
_SUFFIX: Final = ".toml"


@dataclass(frozen=True, kw_only=True)
class Concern:
    """When the audit has something to say of a configuration, and what.

    It is about each such directive, or about each ``block`` in which something is missing ("main" for what stands
    outside all of them). It waits for the version from which on the advice has expired, if the row names one, which
    ``{version}`` in its words is.
    """

    state: str  # one of :class:`tuneproof.audit.advice.State`
    why: str
    directive: str = ""
    block: str = ""
    args: str = ".*"  # regular expression of all the directive's arguments
    value: str = ""  # bounds of one of them, such as "> 0, <= 30s"
    place: int = 0  # of that one among the arguments
    outside: str = ""  # a block that it does not concern, such as "upstream"
    until: str = ""  # the version that no longer has the problem
    where: str = ""
    """What else must be so: a setting in effect there or in a block inside, such as "sendfile on", as a regular
    expression; or a name of tuneproof.audit.conditions."""
    unless: str = ""  # what must not be so, in the same form
    patch: str | None = None
    """What replaces the directive, or is added to the block: ``{arg}`` is the block's argument, and ``{kind}`` the
    module that passes its requests on. "" removes the directive; "=name" is one of tuneproof.audit.remedies."""
    breaks: bool = False  # whether requests fail or protection is lost; else it costs something
    routine: bool = False  # whether it is true of nearly every configuration
    source: str = ""  # nginx's documentation, where no claim was measured
    check: str = ""  # the command that shows what it depends on
    measured: str = ""  # the value with which the claim was measured, where others are meant as well
    trips: tuple[str, ...]
    """Configurations that it must be said of once each: what is in http{}, or all of it where that has events{}."""
    spares: tuple[str, ...] = ()  # and those that it must not be said of


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of advice: what is claimed of it, what decides that, and whom it concerns.

    One arm: in most trials the figure is above one half, or several are as ``shows`` says. Two arms: the first has
    several times as much of it as the second; or ``value`` and ``compare`` say what is compared. Where that needs code,
    ``effect`` and others name a function of the scenario's module. A row without arms belongs to a claim that the
    catalogue declares by itself.
    """

    scenario: str
    claim: str
    sentence: str = ""
    source: str = ""  # who gives the advice, with its headline figure
    line: str = ""  # as copied configurations write it
    arms: tuple[str, ...] = ()
    figure: str = ""  # that the script of the arms returns
    figures: tuple[str, ...] = ()  # of one arm, where it returns several that count
    shows: str = "above"
    """What is claimed of them: all are "above" one half, or "any" is, or none ("below"); or each is larger than the one
    before ("rising")."""
    what: str = ""  # the figure in words
    value: str = ""  # what is compared: a property of an observation, or a function of the scenario's module
    compare: str = "ratio"  # of the first two arms; or "inverse", the second ÷ the first; or "difference"
    alike: float | None = None
    """Of an A/A control, which says that ``value`` is the same in two identical arms: the threshold nearest to 1 of all
    claims that it decides."""
    effect: str = ""  # a function of the module that returns the effect of a block
    condition: str = ""  # one that decides whether a block meets what the claim takes for granted
    condition_name: str = ""  # that in words
    moderator: str = ""  # one that says what decides on this host
    table: str = ""  # one that returns lines to be shown beside the verdict
    metric: str = ""  # the arms' metric that it is computed from, where it is not ``figure``
    scale: str = ""  # "ratio" or "share", of an effect that code returns
    needs: str = ""  # the control that must hold, a row with ``is_control``
    is_control: bool = False  # whether it is asked only for those that need it
    further_looks: tuple[int, ...] = ()  # rounds after which its data are looked at again
    subject_cpus: int = 1  # that nginx must have at least
    form: str = "more"  # or "same", "order"
    threshold: float | None = None  # of two arms
    why: str = ""  # where the threshold comes from: the source's figure, or what would matter to whom
    at_least: float | str = 1.0  # the smallest value of the figure, so that zero can be a denominator; or "1/20"
    exploratory: str = ""  # what was chosen after measuring, and how
    expected: str = "holds"  # or "refuted"; "" where honest hosts differ
    by_build: str = ""  # why the lab's build of mainline gives the other verdict, where the build decides it
    since: str = ""  # the version that brought what it is about; on older ones it cannot be tested
    module: str = ""  # the module that it is about, which the lab's build of mainline does not have
    expired_since: str = ""  # the version that made the advice needless
    expired_by: tuple[str, ...] = ()  # or the change that did: kind and directive, as in nginx_changes
    expired_reason: str = ""
    turned_by: Mapping[str, str] = field(default_factory=dict)
    """By arm, the one in whose place the claim comes out the other way; the first for the second unless given."""
    control: Mapping[str, str] | None = None
    """Claim and sentence of the control: the same of the arm that reverses this one, with the other verdict."""
    audit: tuple[Concern, ...] = ()

    @property
    def version(self) -> str:
        """The version that made the advice needless; the empty string for none."""
        return since(*self.expired_by) if self.expired_by else self.expired_since


@cache
def lines_of(scenario: str) -> tuple[Line, ...]:
    """Return the rows of a scenario, in their order.

    Raises ValueError: A row has a key that rows do not have, or lacks one; the error names it.
    """
    text = resources.files(__package__).joinpath(f"{scenario}{_SUFFIX}").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    figures = content.get("figures", {})
    return tuple(_line(row, scenario, figures) for row in content["line"])


def line_of(scenario: str, claim: str) -> Line:
    """Return the row of one claim."""
    return next(line for line in lines_of(scenario) if line.claim == claim)


def every_line() -> Iterator[Line]:
    """Yield all rows."""
    names = sorted(file.name for file in resources.files(__package__).iterdir() if file.name.endswith(_SUFFIX))
    for name in names:
        yield from lines_of(name.removesuffix(_SUFFIX))


def _line(row: dict[str, Any], scenario: str, figures: Mapping[str, str]) -> Line:
    try:
        fields = {
            "what": figures.get(row.get("figure", ""), ""),
            **row,
            **_tuples(row, "arms", "figures", "further_looks", "expired_by"),
            "audit": tuple(
                Concern(**{**concern, **_tuples(concern, "trips", "spares")}) for concern in row.get("audit", ())
            ),
        }
        return Line(scenario=scenario, **fields)
    except TypeError as error:
        claim = row.get("claim", "a line without a claim")
        raise ValueError(f"tuneproof/lines/{scenario}{_SUFFIX}, {claim}: {error}") from error


def _tuples(row: Mapping[str, Any], *names: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(row[name]) for name in names if name in row}
