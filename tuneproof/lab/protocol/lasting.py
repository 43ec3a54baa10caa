"""Limits for the duration of a program's calls that take more than a moment."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_LASTING: Final[dict[Callable[..., Any], Callable[..., float]]] = {}


def lasts(seconds: Callable[..., float]) -> Callable[[F], F]:
    """Decorate a function of a program's Protocol with its maximum duration, from its arguments by name."""

    def decorate(function: F) -> F:
        _LASTING[function] = seconds
        return function

    return decorate


def lasts_s(function: Callable[..., Any], arguments: Mapping[str, Any]) -> float:
    """Return the declared maximum duration of a call, in seconds; 0 for a function without one."""
    return _LASTING[function](**arguments) if function in _LASTING else 0.0
