"""Dataclasses survive conversion to JSON and back, and messages of another form are rejected."""

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuneproof.lab.protocol.codec import MalformedMessageError, from_plain, to_plain


class Point(NamedTuple):
    at: int
    name: str


class Way(enum.StrEnum):
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, kw_only=True)
class Part:
    size: int = 1
    near: Point | None = None


@dataclass(frozen=True, kw_only=True)
class Whole:
    text: str
    count: int
    share: float
    on: bool
    maybe: float | None
    part: Part
    maybe_part: Part | None
    parts: tuple[Part, ...]
    nested: tuple[tuple[int, ...], ...]
    pair: tuple[int, str]
    ways: tuple[Way, ...]
    point: Point
    points: tuple[Point, ...]
    by_name: Mapping[str, Part]
    by_number: Mapping[int, tuple[int, ...]]
    maybe_by_name: Mapping[str, str | None]
    nothing: None = None
    defaulted: str = "usual"
    made: Mapping[str, int] = field(default_factory=dict)


FULL = Whole(
    text="\N{GREEK SMALL LETTER MU}s",
    count=7,
    share=0.25,
    on=True,
    maybe=1.5,
    part=Part(size=2),
    maybe_part=Part(near=Point(3, "three")),
    parts=(Part(), Part(size=3)),
    nested=((1, 2), ()),
    pair=(8, "eight"),
    ways=(Way.UP, Way.DOWN),
    point=Point(9, "nine"),
    points=(Point(1, "one"), Point(2, "two")),
    by_name={"first": Part(size=4)},
    by_number={8000: (511, 511), 9000: ()},
    maybe_by_name={"known": "yes", "unknown": None},
    defaulted="other",
    made={"one": 1},
)


def as_json(value: object) -> Any:
    return json.loads(json.dumps(to_plain(value)))


EMPTY = replace(FULL, maybe=None, maybe_part=None, parts=(), nested=(), ways=(), points=(), by_name={}, by_number={})


@pytest.mark.parametrize("sent", [FULL, EMPTY], ids=["full", "empty"])
def test_a_sent_value_arrives_with_the_type_of_every_field(sent: Whole) -> None:
    """The repr is compared, too, since an int equals a float of the same value. JSON may write a float as an int."""
    wanted = replace(sent, share=7.0)
    arrived = from_plain(Whole, {**as_json(sent), "share": 7})
    assert (arrived, repr(arrived)) == (wanted, repr(wanted))


@settings(max_examples=50, database=None, derandomize=True)
@given(st.from_type(Whole))
def test_any_sent_value_arrives(sent: Whole) -> None:
    """The texts are compared, since a NaN does not equal itself, and an int equals a float of the same value."""
    text = json.dumps(to_plain(sent))
    assert json.dumps(to_plain(from_plain(Whole, json.loads(text)))) == text


def test_json_contains_the_names_of_fields_and_the_values_of_tuples() -> None:
    plain = as_json(FULL)
    assert plain["maybe_part"] == {"size": 1, "near": [3, "three"]}
    assert plain["points"] == [[1, "one"], [2, "two"]]
    assert plain["by_number"] == {"8000": [511, 511], "9000": []}
    assert plain["nothing"] is None


def test_missing_fields_get_their_defaults() -> None:
    plain = {name: value for name, value in as_json(FULL).items() if name not in {"nothing", "defaulted", "made"}}
    assert (from_plain(Whole, plain).defaulted, from_plain(Whole, plain).made) == ("usual", {})
    assert from_plain(Part, {}) == Part()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"text": 7}, "Whole.text is 7, which is not of type str"),
        ({"count": 7.0}, "Whole.count is 7.0, which is not of type int"),
        ({"count": True}, "Whole.count is True, which is not of type int"),
        ({"share": False}, "Whole.share is False, which is not of type float"),
        ({"maybe": True}, "Whole.maybe is True, which is not of type float"),
        ({"nothing": 0}, "Whole.nothing is 0, which is not of type NoneType"),
        ({"on": 1}, "Whole.on is 1, which is not of type bool"),
        ({"part": [2]}, "Whole.part is [2], which is not of type dict"),
        ({"part": {"size": "2"}}, "Whole.part.size is '2', which is not of type int"),
        ({"maybe_part": {"near": [3, 3]}}, "Whole.maybe_part.near[] is 3, which is not of type str"),
        ({"parts": {}}, "Whole.parts is {}, which is not of type list"),
        ({"nested": [[1, "2"]]}, "Whole.nested[][] is '2', which is not of type int"),
        ({"by_name": {"first": 4}}, "Whole.by_name.first is 4, which is not of type dict"),
        ({"maybe_by_name": {"known": 1}}, "Whole.maybe_by_name.known is 1, which is not of type str"),
        (
            {"by_number": {"many": []}},
            "Whole.by_number has an invalid key: invalid literal for int() with base 10: 'many'",
        ),
        ({"ways": ["left"]}, "Whole.ways[] is 'left', which is not of type Way"),
        ({"ways": [1]}, "Whole.ways[] is 1, which is not of type str"),
        ({"pair": [8]}, "Whole.pair has 1 values instead of 2"),
        ({"pair": [8, "eight", 8]}, "Whole.pair has 3 values instead of 2"),
        ({"points": [[1, "one"], []]}, "Whole.points[] has 0 values instead of 2"),
        ({"other": 1, "another": 2}, "Whole has no another, other"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value.partition(",")[0],
)
def test_a_value_of_another_type_is_rejected_with_its_path(changed: dict[str, object], message: str) -> None:
    """A value of another type means that the two sides have different protocols."""
    with pytest.raises(MalformedMessageError) as caught:
        from_plain(Whole, {**as_json(FULL), **changed})
    assert str(caught.value) == message


def test_a_missing_field_is_rejected_by_name() -> None:
    plain = {name: value for name, value in as_json(FULL).items() if name not in {"count", "by_number"}}
    with pytest.raises(MalformedMessageError, match=r"^Whole lacks count, by_number$"):
        from_plain(Whole, plain)


def test_a_long_value_is_cut_in_the_message() -> None:
    """A file's content in place of a number would fill the screen."""
    with pytest.raises(MalformedMessageError) as caught:
        from_plain(Part, {"size": "x" * 100_000})
    assert len(str(caught.value)) < 150
