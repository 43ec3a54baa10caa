"""Tuneproof's own version: the package's metadata, ``--version`` and SARIF take it from here."""

from typing import Final

VERSION: Final = "1.0.0"
"""Follows docs/stability.md. It is not in ``tuneproof/__init__.py``, because the lab's images contain that file and a
new version must not rebuild them."""
