"""Converts frozen dataclasses to plain JSON types and back, checking types against annotations on the way back."""

import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar

Value = TypeVar("Value")


class MalformedMessageError(ValueError):
    """A message does not have the expected type."""


def to_plain(value: object) -> Any:
    """Return a value in json.dumps's types: dataclasses and mappings become objects, tuples become lists."""
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(wanted: type[Value], plain: object, *, place: str = "") -> Value:
    """Build a value from the result of :func:`to_plain`; missing fields keep their defaults.

    wanted: its type: str, int, float, bool, None, an enum of strings, a dataclass, a NamedTuple, a tuple or mapping of
        these, or a union of one of these with None. An int is accepted as a float.
    place: its name in messages (default: its type's name).
    Raises MalformedMessageError: it has another type; the message says where.
    """
    built: Value = _build(wanted, plain, place or wanted.__name__)
    return built


def fields_from_plain(wanted: Mapping[str, Any], plain: object, *, needed: Iterable[str], place: str) -> dict[str, Any]:
    """Build values by name, such as a function's arguments, from the result of :func:`to_plain`.

    Raises MalformedMessageError: one has another type, is unknown, or is required and missing.
    """
    given = _checked(dict, plain, place)
    if unknown := sorted(given.keys() - wanted.keys()):
        raise MalformedMessageError(f"{place} has no {', '.join(map(str, unknown))}")
    if missing := [name for name in needed if name not in given]:
        raise MalformedMessageError(f"{place} lacks {', '.join(missing)}")
    return {name: _build(wanted[name], value, f"{place}.{name}") for name, value in given.items()}


def _build(wanted: Any, plain: object, place: str) -> Any:
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is not None:
        return _GENERIC[origin](parts, plain, place)
    if is_dataclass(wanted):
        return _build_dataclass(typing.cast("type", wanted), plain, place)
    if issubclass(wanted, tuple):
        return wanted(*_build_tuple(tuple(_hints(wanted).values()), plain, place))
    if issubclass(wanted, enum.StrEnum):
        return _build_member(wanted, plain, place)
    if wanted is float and type(plain) is int:
        return float(plain)
    return _checked(wanted, plain, place)


def _build_union(wanted: tuple[Any, ...], plain: object, place: str) -> Any:
    if plain is None and type(None) in wanted:
        return None
    (other,) = (one for one in wanted if one is not type(None))
    return _build(other, plain, place)


def _build_member(wanted: type[enum.StrEnum], plain: object, place: str) -> enum.StrEnum:
    text = _checked(str, plain, place)
    try:
        return wanted(text)
    except ValueError as error:
        raise MalformedMessageError(f"{place} is {plain!r:.80}, which is not of type {wanted.__name__}") from error


def _build_tuple(wanted: tuple[Any, ...], plain: object, place: str) -> tuple[Any, ...]:
    values = _checked(list, plain, place)
    each = wanted[:1] * len(values) if wanted[1:] == (...,) else wanted
    if len(each) != len(values):
        raise MalformedMessageError(f"{place} has {len(values)} values instead of {len(each)}")
    return tuple(_build(one, value, f"{place}[]") for one, value in zip(each, values, strict=True))


def _build_mapping(wanted: tuple[Any, ...], plain: object, place: str) -> Mapping[Any, Any]:
    key_type, item_type = wanted
    items = _checked(dict, plain, place).items()
    try:
        # JSON keys are always strings.
        keys = [key_type(key) for key, _ in items]
    except ValueError as error:
        raise MalformedMessageError(f"{place} has an invalid key: {error}") from error
    return {key: _build(item_type, item, f"{place}.{key}") for key, (_, item) in zip(keys, items, strict=True)}


def _build_dataclass(wanted: type, plain: object, place: str) -> Any:
    needed = [each.name for each in fields(wanted) if each.default is MISSING and each.default_factory is MISSING]
    return wanted(**fields_from_plain(_hints(wanted), plain, needed=needed, place=place))


def _checked(wanted: type, plain: object, place: str) -> Any:
    # Not isinstance: a bool is an int.
    if type(plain) is not wanted:
        raise MalformedMessageError(f"{place} is {plain!r:.80}, which is not of type {wanted.__name__}")
    return plain


_GENERIC: Final[Mapping[Any, Callable[[tuple[Any, ...], object, str], Any]]] = {
    types.UnionType: _build_union,
    typing.Union: _build_union,
    tuple: _build_tuple,
    Mapping: _build_mapping,
}


@cache
def _hints(wanted: type) -> Mapping[str, Any]:
    return typing.get_type_hints(wanted)
