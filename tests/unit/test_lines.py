"""Rows of advice have valid values; an error in a row is reported with its file and its claim."""

from dataclasses import fields, replace

import pytest

from tuneproof import lines
from tuneproof.audit.advice import State
from tuneproof.audit.conditions import WHERE
from tuneproof.lines import Concern, Line, every_line
from tuneproof.proof.inference.verdicts import Form, Verdict

ROW = {"claim": "a", "sentence": "s", "figure": "f", "arms": ["x", "y"], "threshold": 2.0}
FIGURES = {"f": "requests"}


def wrong_kinds(row: Line | Concern) -> list[str]:
    """Return the fields with values that are not of the declared type."""
    kinds = {"str": str, "int": int, "float": float, "None": type(None)}
    wrong = []
    for one in fields(row):
        value, declared = getattr(row, one.name), str(one.type)
        if declared in {"str", "int", "float | None", "float | str", "str | None"}:
            known = tuple(kinds[name] for name in declared.split(" | "))
            # An integer is a valid float.
            wrong += [] if isinstance(value, known) or (float in known and type(value) is int) else [one.name]
        elif declared == "tuple[str, ...]":
            wrong += [] if isinstance(value, tuple) and all(isinstance(item, str) for item in value) else [one.name]
    return wrong


def test_a_rows_values_have_the_declared_types() -> None:
    """A threshold is given only if it is needed, and claims or audits accept each keyword."""
    for line in every_line():
        assert wrong_kinds(line) == []
        assert (line.form in set(Form), line.expected in {*Verdict, ""}) == (True, True)
        is_compared = len(line.arms) == 2 or bool(line.value or line.effect)
        assert (line.threshold is not None) == bool(line.why) == (is_compared and line.alike is None)
        assert not line.arms or (line.what and line.sentence and (line.source or line.alike))
        assert not (line.value and line.effect)
        assert line.compare in {"ratio", "inverse", "difference"}
        assert line.shows in {"above", "any", "below", "rising"}
        for concern in line.audit:
            assert wrong_kinds(concern) == []
            assert concern.state in set(State)
            assert bool(concern.directive) != bool(concern.block)
            assert all(name in WHERE or " " in name for name in (concern.where, concern.unless) if name)


def test_a_value_of_another_type_is_noticed() -> None:
    line = lines._line(ROW, "s", FIGURES)
    assert wrong_kinds(line) == []
    assert wrong_kinds(replace(line, threshold="2")) == ["threshold"]  # type: ignore[arg-type] # the mistake
    assert wrong_kinds(replace(line, arms=(1,))) == ["arms"]  # type: ignore[arg-type] # the mistake


@pytest.mark.parametrize(
    ("mistake", "named"),
    [
        ({"figur": "x"}, "figur"),
        ({"audit": [{"state": "harmful"}]}, "why"),
        ({"claim": "b", "armz": []}, "armz"),
        ({"figure": "g"}, "g"),
    ],
)
def test_an_error_is_reported_with_its_place(mistake: dict[str, object], named: str) -> None:
    row = {**ROW, **mistake}
    with pytest.raises(ValueError, match=rf"tuneproof/lines/s\.toml, {row['claim']}: .*'{named}'"):
        lines._line(row, "s", FIGURES)


def test_a_figures_words_come_from_the_scenarios_table() -> None:
    assert lines._line(ROW, "s", {"f": "words"}).what == "words"
    assert lines._line({**ROW, "what": "own"}, "s", {"f": "words"}).what == "own"
    assert lines._line(ROW, "s", FIGURES).arms == ("x", "y")


def test_the_version_of_a_change_in_nginx_is_looked_up() -> None:
    assert lines._line({**ROW, "expired_by": ["removed", "ssl"]}, "s", FIGURES).version == "1.25.1"
    with pytest.raises(LookupError, match="removed listen"):
        _ = lines._line({**ROW, "expired_by": ["removed", "listen"]}, "s", FIGURES).version
