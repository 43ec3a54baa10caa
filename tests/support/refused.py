"""Lines of http{} that every nginx of the lab refuses, with a part of its message, and similar lines that it loads."""

from collections.abc import Mapping
from typing import Final

from tests.support.places import CHECKOUT
from tests.support.tables import table

# Lines and parts of the messages, by their line numbers in the table.
REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    f"line-{number}": (text, message) for number, (text, message) in enumerate(table("refused_lines"), 2)
}
_PARAGRAPHS: Final = (CHECKOUT / "tests/tables/loaded_lines.conf").read_text(encoding="utf-8").split("\n\n")
# Each paragraph begins with its name.
LOADED: Final[Mapping[str, str]] = {
    name.removeprefix("# "): " ".join(line for line in lines if not line.startswith("# "))
    for name, *lines in map(str.splitlines, _PARAGRAPHS)
}


def whole(text: str) -> str:
    """Return a complete configuration with these lines in http{}."""
    return f"error_log stderr; pid /tmp/nginx.pid; events {{ }}\nhttp {{ access_log off; {text} }}\n"
