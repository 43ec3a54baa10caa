"""Results of the command line, and how tests run it."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Lab = Callable[..., Ended]
"""Runs ``./lab`` with some words in this process."""
