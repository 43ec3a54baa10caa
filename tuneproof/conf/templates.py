"""Templates of configurations, which are none yet."""

import re
from typing import Final

from tuneproof.conf.file_text import lines_of
from tuneproof.errors import BadInputError
from tuneproof.nginx_lua import without_lua

# Jinja, Helm, Go, Mustache, Ansible; ERB and EJS; envsubst and the shell, whose variables are written in capitals.
_MARKS: Final = (
    re.compile(r"\{\{-?\s*[#/.$\w][^{}\n]*\}\}"),
    re.compile(r"\{%-?\s*\w+[^\n]*%\}"),
    re.compile(r"<%[-=#]?\s[^\n]*%>"),
    re.compile(r"\$\{[A-Z][A-Z0-9_]*(?::-[^}]*)?\}"),
)
# What a response or a log may hold is not for a template's engine.
_CONTENT: Final = re.compile(r"^\s*(?:return|add_header|sub_filter|log_format|more_set_headers|rewrite|if|set)\b")


def refuse_template(name: str, text: str) -> None:
    """Refuse a file that something has to fill in first.

    Raises BadInputError: It has such places; the first one is named.
    """
    for number, line in enumerate(lines_of(without_lua(text)), start=1):
        code = line.lstrip()
        if code.startswith("#") or _CONTENT.match(line):
            continue
        for mark in _MARKS:
            if found := mark.search(code):
                raise BadInputError(
                    f"a template, not a configuration: {found[0][:60]} has yet to be filled in",
                    where=f"{name}:{number}",
                    remedy="audit what it becomes: `nginx -T` where it runs prints that with all its includes",
                )
