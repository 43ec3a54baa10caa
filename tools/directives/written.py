"""A default in nginx.conf's syntax, from the C expressions in nginx's sources."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

_CAST: Final = re.compile(r"\((?:size_t|off_t|ngx_\w+_t|int|time_t)\)")
_MACRO: Final = re.compile(r"\b(?:NGX_|DEFAULT_)\w+\b")
# These values assume memory pages of 4 KiB, cache lines of 64 bytes and pointers of 8 bytes.
_MACHINE: Final = (("ngx_pagesize", "4096"), ("ngx_cacheline_size", "64"), ("sizeof(void *)", "8"), ("/", "//"))
_NO_LIMIT: Final = 2**31 - 1
_SECOND_MS: Final = 1000
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Mult: lambda one, other: one * other,
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.FloorDiv: lambda one, other: one // other,
}


def written(
    kind: str, default: Sequence[str], *, words: Sequence[tuple[str, str]], defines: Mapping[str, str]
) -> str | None:
    """Return a default; None if there is none, or if the source does not state it directly.

    ``kind`` is part of the name of nginx's function, such as "msec" of ngx_conf_set_msec_slot; ``words`` are an
    enumeration's words with their values, and ``defines`` are the macros.
    """
    if kind == "str":
        text = _resolved(default[0], defines)
        return text.strip('"') or None if text.startswith('"') else None
    if kind == "bitmask":
        return _bits(default[0], words, defines)
    if kind == "enum":
        return _word(default[0], words, defines)
    numbers = [_number(one, defines) for one in default]
    if None in numbers or any(number is not None and not 0 <= number < _NO_LIMIT for number in numbers):
        return None
    known = [number for number in numbers if number is not None]
    return _WRITERS[kind](known) if kind in _WRITERS else None


def _resolved(expression: str, defines: Mapping[str, str]) -> str:
    for _ in range(5):
        expression = _MACRO.sub(lambda match: defines.get(match[0], match[0]), expression)
    return expression


def _number(expression: str, defines: Mapping[str, str]) -> int | None:
    text = _CAST.sub("", _resolved(expression, defines))
    for name, value in _MACHINE:
        text = text.replace(name, value)
    try:
        return _value(ast.parse(re.sub(r"\b(0x[0-9a-f]+|\d+)[uUlL]*\b", r"\1", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    raise ValueError(ast.dump(node))


def _word(expression: str, words: Sequence[tuple[str, str]], defines: Mapping[str, str]) -> str | None:
    """Return an enumeration's word for a value, by its macro's name, or else by its number."""
    named = [word for word, meaning in words if meaning == expression]
    number = _number(expression, defines)
    numbered = [word for word, meaning in words if number is not None and _number(meaning, defines) == number]
    return next(iter([*named, *numbered]), None)


def _bits(expression: str, words: Sequence[tuple[str, str]], defines: Mapping[str, str]) -> str | None:
    meanings = {meaning for _, meaning in words}
    names: set[str] = set()
    todo = [expression]
    while todo:
        for name in re.findall(r"\w+", todo.pop()):
            if name in meanings:
                names.add(name)
            elif name in defines and name != "NGX_CONF_BITMASK_SET":
                todo.append(defines[name])
    return " ".join(word for word, meaning in words if meaning in names) or None


def _flag(numbers: Sequence[int]) -> str | None:
    return {0: "off", 1: "on"}.get(numbers[0])


def _size(number: int) -> str:
    for unit, letter in ((1 << 20, "m"), (1 << 10, "k")):
        if number and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


def _time(number_ms: int) -> str:
    if number_ms == 0:
        return "0"
    for unit_ms, letter in ((3_600_000, "h"), (60_000, "m")):
        if number_ms % unit_ms == 0 and number_ms > 60_000:  # noqa: PLR2004 - nginx's documentation says 60s
            return f"{number_ms // unit_ms}{letter}"
    return f"{number_ms // _SECOND_MS}s" if number_ms % _SECOND_MS == 0 else f"{number_ms}ms"


_WRITERS: Final[Mapping[str, Callable[[Sequence[int]], str | None]]] = {
    "flag": _flag,
    "uint": lambda numbers: str(numbers[0]),
    "num": lambda numbers: str(numbers[0]),
    "size": lambda numbers: _size(numbers[0]),
    "off": lambda numbers: _size(numbers[0]),
    "msec": lambda numbers: _time(numbers[0]),
    "sec": lambda numbers: _time(numbers[0] * _SECOND_MS),
    "bufs": lambda numbers: f"{numbers[0]} {_size(numbers[1])}",
}
