"""A cell is the same after conversion to JSON and back, and is checked against the format's rules."""

import json
import math
from typing import Any

import pytest

from tests.support.written_results import LINK, a_cell
from tuneproof.report.results.cells import Cell, Effect
from tuneproof.report.results.schema import cell_violation

EFFECT: dict[str, Any] = a_cell().to_json()["effect"]
# Files from before claims had forms contain such effects.
OLDER_EFFECT = {name: EFFECT[name] for name in ("name", "unit", "value", "ci_low", "ci_high")}
SHARE: dict[str, Any] = {
    **EFFECT,
    "unit": "share",
    "value": 28 / 29,
    "ci_low": 0.85,
    "ci_high": 0.998,
    "count": 28.0,
    "of": 29,
    "level": 0.955,
    "plan_level": 0.925,
}
CELL: dict[str, Any] = a_cell().to_json() | {
    "arms": {"idle": {"lag_p99_ms": 0.5, "requests": 100, "rss_bytes": None}},
    "evidence": ["evidence/stall/access.log"],
    "links": [LINK, LINK | {"direction": "ingress", "shaper": "native"}],
    "expired_since": "1.29.7",
    "line": "keepalive 32;",
    "figure": "connects",
    "why": "the article's figure",
    "remedy": {
        "what": "keep them",
        "patch": "+ it",
        "at": "a.conf:3",
        "gains": "connections",
        "place": "/a",
        "cost": "memory",
        "reaches_others": False,
        "only_if": "",
    },
    "fine": {"what": "they are kept", "verdict": "refuted"},
    "doses": {"idle": [{"of": "readers", "unit": "", "amount": 4, "series": "1 worker"}]},
    "host_noise": {"looks": 7, "lost_p50_pct": 2.5, "lost_max_pct": 31.0, "waited_s": 0.0},
}


@pytest.mark.parametrize("effect", [EFFECT, EFFECT | {"form": "same"}, EFFECT | {"form": "order"}, SHARE], ids=repr)
def test_a_cell_is_the_same_after_conversion_to_json_and_back(effect: dict[str, Any]) -> None:
    cell = Cell.from_json(CELL | {"effect": effect})
    assert json.loads(json.dumps(cell.to_json())) == CELL | {"effect": effect}
    assert Cell.from_json(cell.to_json()) == cell
    assert cell.effect == Effect(**effect)
    assert cell.evidence == ("evidence/stall/access.log",)


def test_an_older_cell_is_read_with_the_form_more_and_without_links() -> None:
    older = {name: value for name, value in CELL.items() if name not in {"links", "name"}} | {"effect": OLDER_EFFECT}
    assert Cell.from_json(older) == Cell.from_json(CELL | {"links": []})
    assert Cell.from_json(older).to_json() == CELL | {"links": []}
    assert not Cell.from_json(older | {"id": "stalls"}).name


def test_a_caller_cannot_change_the_figures_through_the_json() -> None:
    cell = Cell.from_json(CELL | {"links": [LINK]})
    cell.to_json()["links"][0]["measured"]["rtt_ms"] = 0.0
    assert cell.links[0]["measured"]["rtt_ms"] == 40.3


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        ({"threshold": math.nan}, "/threshold", "nan is not a finite number"),
        ({"seconds": math.inf}, "/seconds", "inf is not a finite number"),
        ({"seconds": "long"}, "/seconds", "'long' is not of type 'number'"),
        ({"seconds": 10**400}, "/seconds", "1000000000"),
        ({"arms": {"idle": {"lag_p99_ms": math.nan}}}, "/arms/idle/lag_p99_ms", "nan is not"),
        ({"links": [LINK, LINK | {"set": {"rtt_ms": math.inf}}]}, "/links/1/set/rtt_ms", "inf is not"),
        ({"effect": EFFECT | {"ci_high": math.inf}}, "/effect/ci_high", "inf is not"),
        ({"effect": EFFECT | {"ci_low": 181.0}}, "/effect", "ci_low: 181.0 is above ci_high 180.0"),
        ({"effect": SHARE | {"of": None}}, "/effect", "count and of must be given together"),
        ({"effect": SHARE | {"count": None}}, "/effect", "count and of must be given together"),
        ({"effect": SHARE | {"count": 30}}, "/effect", "of: 29 units are fewer than the 30 counted"),
        ({"effect": SHARE | {"count": math.nan}}, "/effect/count", "nan is not"),
    ],
)
def test_rules_outside_the_schema_are_checked_too(change: dict[str, Any], pointer: str, message: str) -> None:
    assert cell_violation(CELL) is None
    violation = cell_violation(CELL | change)
    assert violation is not None
    assert violation.pointer == pointer
    assert violation.message.startswith(message)
    assert violation.message.endswith(" ...") == (len(violation.message) > 200)


@pytest.mark.parametrize(("count", "of"), [(0, 1), (1, 1), (0.5, 1), (28, 29)])
def test_a_count_may_be_zero_a_fraction_or_all_units(count: float, of: float) -> None:
    assert cell_violation(CELL | {"effect": SHARE | {"count": count, "of": of}}) is None


def test_an_infinite_ratio_is_null_in_files() -> None:
    """JSON has no infinity, so null stands for the ratio of a number to 0."""
    effect = {**EFFECT, "value": None, "ci_high": None}
    cell = Cell.from_json(CELL | {"effect": effect})
    assert cell.effect is not None
    assert (cell.effect.value, cell.effect.ci_low, cell.effect.ci_high) == (math.inf, 98, math.inf)
    assert cell.to_json()["effect"] == effect
    assert cell_violation(cell.to_json()) is None
