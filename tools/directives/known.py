"""The facts about directives in known.toml."""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Final

from tuneproof.wording import as_numbers

_FILE: Final = "known.toml"


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8"))


def known(what: str, name: str, module: str, version: str) -> str | None:
    """Return a directive's inheritance, or its default, in a version; None if known.toml has none."""
    for table in _tables()[what]:
        is_meant = any(re.fullmatch(pattern, name) for pattern in table["names"]) and table.get("module", "") in module
        if is_meant and as_numbers(version) >= as_numbers(table.get("since", "0")):
            return str(table["is"])
    return None
