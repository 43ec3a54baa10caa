"""Tables of tests: one row on each line, its values separated by tabs."""

from typing import Final

from tests.support.places import CHECKOUT

_FOLDER: Final = CHECKOUT / "tests/tables"


def table(name: str) -> list[list[str]]:
    """Return the rows of a table; lines that begin with ``# `` are comments."""
    lines = (_FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("# ")]
