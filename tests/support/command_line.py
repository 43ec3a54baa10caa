"""The command line as its user meets it."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Lab = Callable[..., Ended]
"""Runs ``./lab`` with some words in this process."""
