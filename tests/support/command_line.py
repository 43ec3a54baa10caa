"""The result of a command, and the type of the fixture that runs one."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Lab = Callable[..., Ended]
"""Runs ``./lab`` with some words in this process."""
