"""Tuneproof's own version: the package's metadata, ``--version`` and SARIF take it from here."""

from typing import Final

VERSION: Final = "1.0.0"
"""By the rules of docs/stability.md. Not in ``tuneproof/__init__.py``, which the lab's images contain: a new version
must not rebuild them."""
