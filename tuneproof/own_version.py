"""Tuneproof's own version, which the package's metadata, ``--version`` and SARIF take from here."""

from typing import Final

VERSION: Final = "1.0.0"
"""It follows docs/stability.md. It is not in ``tuneproof/__init__.py``, because the lab's images contain that file and
a new version must not rebuild them."""
