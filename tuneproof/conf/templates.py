"""Templates of configurations: envsubst's ``${NAME}`` gets a value; templates for other engines are rejected.

The official images replace ``${NAME}`` with environment variables
(https://hub.docker.com/_/nginx, "Using environment variables in nginx configuration"); Compose adds defaults.
"""

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Final

from tuneproof.conf.directives import rows_of
from tuneproof.conf.file_text import BYTE_ORDER_MARK, lines_of
from tuneproof.errors import BadInputError
from tuneproof.nginx_lua import without_lua

# Jinja, Helm, Go, Mustache, Ansible; ERB and EJS.
_MARKS: Final = (
    re.compile(r"\{\{-?\s{0,8}[#/.$\w][^{}\n]{0,200}\}\}"),
    re.compile(r"\{%-?\s{0,8}\w+[^\n%]{0,200}%\}"),
    re.compile(r"<%[-=#]?\s[^\n%]{0,200}%>"),
)
# Texts for responses and logs may look like a template.
_CONTENT: Final = re.compile(r"^\s*(?:return|add_header|sub_filter|log_format|more_set_headers|rewrite|if|set)\b")
_LONGEST_LINE: Final = 4096
_BEFORE_CODE: Final = f"{string.whitespace}{BYTE_ORDER_MARK}"
PLACEHOLDER: Final = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)(?::?-(?P<default>[^}]*))?\}")
# Directives that define a variable: ${NAME} is then nginx's.
_MADE: Final = re.compile(
    r"(?:\b(?:set|js_set|js_var|perl_set|auth_request_set|set_by_lua\w*)\s{1,500}\$(\w+)"
    r"|\b(?:map|geo|split_clients)\b[^;{}]{1,500}\$(\w+)\s*\{|\(\?P?<(\w+)>)"
)
_UPSTREAM: Final = re.compile(r"\bupstream\s{1,500}([\w.-]+)")
_PORT: Final = "8080"
# What a placeholder's name suggests about its value.
_BY_NAME: Final = (
    (re.compile(r"PORT"), _PORT),
    (re.compile(r"RESOLVERS?$"), "127.0.0.11"),
    (re.compile(r"URL|URI$"), "http://backend:8080"),
    (re.compile(r"HOST|BACKEND|UPSTREAM|ADDR|SERVER$"), "backend"),
    (re.compile(r"DOMAIN|NAME"), "example.test"),
    (re.compile(r"ROOT|DIR|PATH"), "/srv"),
    (re.compile(r"TIMEOUT|EXPIRE|INTERVAL|TTL"), "60s"),
    (re.compile(r"SIZE|LIMIT|BUFFER"), "1m"),
    (re.compile(r"CONNECTIONS"), "1024"),
)
# These directives take a number, and lack a default in some versions.
_BY_DIRECTIVE: Final = {"keepalive": "32"}
# Further values, since two placeholders seldom mean the same port, host or path.
_OTHERWISE: Final = {
    "http://backend:8080": "http://{slug}:8080",
    "backend": "{slug}",
    "example.test": "{slug}.test",
    "/srv": "/srv/{slug}",
}


@dataclass(frozen=True, kw_only=True)
class Filled:
    """An envsubst placeholder and its value."""

    written: str  # such as "${PORT}"
    name: str
    value: str
    is_given: bool  # whether the user or the template's default gives the value; if not, it is a stand-in


def values_of(given: Iterable[str], *, option: str, file: str = "") -> dict[str, str]:
    """Return the values in lines such as NAME=VALUE, by name; comments and empty lines are left out.

    ``file``: the name of the file with the lines; empty for values from the command line.
    Raises BadInputError: A line has a different form.
    """
    found = {}
    for number, line in enumerate(given, start=1):
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals and name and not name.startswith("#"):
            wanted = f"write {name}=VALUE in the file" if file else f"{option} {name}=VALUE"
            raise BadInputError(
                f"{option} {line}: not NAME=VALUE", where=f"{file}:{number}" if file else "", remedy=wanted
            )
        if equals and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("'\"")
    return found


def refuse_template(name: str, text: str) -> None:
    """Reject a file with templates other than envsubst's.

    Raises BadInputError: The file has one; the message names the first.
    """
    for number, line in enumerate(lines_of(without_lua(text)), start=1):
        code = line[:_LONGEST_LINE].lstrip(_BEFORE_CODE)
        if code.startswith("#") or _CONTENT.match(code):
            continue
        for mark in _MARKS:
            if found := mark.search(code):
                raise BadInputError(
                    f"a template, not a configuration: {found[0][:60]} must be filled in first",
                    where=f"{name}:{number}",
                    remedy="audit the result: on its own machine, `nginx -T` prints it with all includes",
                )


def own_variables(text: str) -> frozenset[str]:
    """Return the names of the variables that a configuration defines itself."""
    return frozenset(name for match in _MADE.finditer(text) for name in match.groups() if name)


def upstream_names(text: str) -> frozenset[str]:
    """Return the names of the upstream blocks in a text."""
    return frozenset(_UPSTREAM.findall(text))


@dataclass(frozen=True, kw_only=True)
class Values:
    """The values of a configuration's placeholders."""

    given: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # from the user, by name
    stand_ins: dict[str, str] = field(default_factory=dict)  # stand-ins for all others, each created when first needed
    blocks: set[str] = field(default_factory=set)  # names of upstream blocks, which stand-ins must not equal by chance

    def stand_in(self, name: str, directive: str, *, is_alone: bool) -> str:
        """Return the stand-in for a placeholder; different ports, hosts and paths get different ones."""
        if name not in self.stand_ins:
            value, used = _stand_in(name, directive, is_alone=is_alone), set(self.stand_ins.values())
            if value == _PORT:
                value = next(str(port) for port in count(int(_PORT)) if str(port) not in used)
            elif value in used or value.removeprefix("http://").partition(":")[0] in self.blocks:
                value = _OTHERWISE.get(value, value).format(slug=name.lower().replace("_", "-"))
            self.stand_ins[name] = value
        return self.stand_ins[name]


def fill(directive: str, word: str, values: Values, own: frozenset[str]) -> tuple[str, tuple[Filled, ...]]:
    """Return an argument of a directive with its placeholders replaced, and the values used.

    ``own``: names of variables that the configuration defines, which are not replaced.
    """
    found = [match for match in PLACEHOLDER.finditer(word) if match["name"] not in own]
    filled = tuple(_filled(match, directive, word, values) for match in found)
    for one in filled:
        word = word.replace(one.written, one.value)
    return word, filled


def _filled(match: re.Match[str], directive: str, word: str, values: Values) -> Filled:
    name, default = match["name"], match["default"]
    given = values.given.get(name, default)
    value = given if given is not None else values.stand_in(name, directive, is_alone=match[0] == word)
    return Filled(written=match[0], name=name, value=value, is_given=given is not None)


def _stand_in(name: str, directive: str, *, is_alone: bool) -> str:
    """Return a plausible value: 1 before a unit, else the default if the placeholder is a whole word, else by name."""
    if not is_alone and any(row.value for row in rows_of(directive)):
        return "1"  # 1, in the unit that follows the placeholder
    defaults: Iterator[str] = (row.default for row in rows_of(directive) if row.default and " " not in row.default)
    default = next(defaults, "") if is_alone and directive != "listen" else ""
    by_name = (value for mark, value in _BY_NAME if mark.search(name))
    return _BY_DIRECTIVE.get(directive) or default or next(by_name, name.lower().replace("_", "-"))
