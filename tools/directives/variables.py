"""The names of nginx's variables in its sources: in arrays, and in strings that a module registers."""

import re
from collections.abc import Iterator
from typing import Final

from tools.directives.c_text import arrays, without_comments

KINDS: Final = ("http", "stream")
_NAME: Final = re.compile(r'ngx_string\("(\w+)"\)')
_ALONE: Final = re.compile(r'ngx_str_t\s+ngx_(http|stream)_\w+\s*=\s*ngx_string\("([a-z_0-9]+)"\)')


def variables(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each variable in a C file, and perhaps other strings; a prefix ends in "_"."""
    bare = without_comments(text)
    for kind in KINDS:
        for _, items in arrays(bare, f"ngx_{kind}_variable_t"):
            yield from ((kind, match[1]) for item in items if (match := _NAME.search(item)))
    yield from _ALONE.findall(bare)
