"""Random nested blocks from a seed, with settings at every level, and requests that show which are in effect in each.

Each configuration is of one kind: the content of its locations decides which settings responses show.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tuneproof.conf.directives import directive

PORT: Final = 8003
SLOW_PORT: Final = 9003
"""A backend on this port answers after SLOW_S seconds."""
SLOW_S: Final = 0.5
Lines = Callable[[random.Random, int], Sequence[str]]
"""Returns lines of one directive that may contain a unique number."""


def _some(template: str, most: int = 1) -> Lines:
    """Return a function for up to this many lines; a unique number replaces N in each, and one of a to e replaces A."""

    def lines(rng: random.Random, number: int) -> list[str]:
        count = rng.randint(1, most)
        letters = rng.sample("abcde", count)
        return [
            template.replace("N", str(number * 10 + each)).replace("A", letter) for each, letter in enumerate(letters)
        ]

    return lines


def _one_of(*lines: str) -> Lines:
    return lambda rng, _: [rng.choice(lines)]


ANSWERS: Final[Mapping[str, Lines]] = {
    "add_header": _some("add_header X-A N always;", 3),
    "add_header_inherit": _one_of("add_header_inherit on;", "add_header_inherit off;", "add_header_inherit merge;"),
    "expires": lambda rng, number: [f"expires {number}s;" if rng.random() < 0.8 else "expires off;"],
    "default_type": _some("default_type text/xN;"),
    "charset": lambda rng, number: [f"charset x{number};" if rng.random() < 0.8 else "charset off;"],
    "keepalive_timeout": _some("keepalive_timeout 75s N;"),
    "server_tokens": _one_of("server_tokens on;", "server_tokens off;"),
    "root": _some("root /nonexistent/N;"),
    "alias": _some("alias /nonexistent/aliased/N/;"),
    "access_log": lambda rng, number: (
        ["access_log off;"] if rng.random() < 0.2 else _some("access_log /tmp/logs/A;", 3)(rng, number)
    ),
    "client_max_body_size": _one_of("client_max_body_size 1k;", "client_max_body_size 0;", "client_max_body_size 1m;"),
}
ERRORS: Final[Mapping[str, Lines]] = {
    "error_page": _some("error_page 404 http://e.test/N;", 2),
    "absolute_redirect": _one_of("absolute_redirect on;", "absolute_redirect off;"),
    "port_in_redirect": _one_of("port_in_redirect on;", "port_in_redirect off;"),
    "server_name_in_redirect": _one_of("server_name_in_redirect on;", "server_name_in_redirect off;"),
    "internal": lambda rng, _: ["internal;"] if rng.random() < 0.3 else [],
}
PROXIED: Final[Mapping[str, Lines]] = {
    "proxy_set_header": _some("proxy_set_header X-A N;", 3),
    "proxy_method": _one_of("proxy_method PUT;", "proxy_method POST;", "proxy_method PATCH;"),
    "proxy_http_version": _one_of("proxy_http_version 1.0;", "proxy_http_version 1.1;"),
    "proxy_hide_header": _some("proxy_hide_header X-A;", 3),
}
ACCESS: Final[Mapping[str, Lines]] = {
    "allow": _one_of("allow 127.0.0.1;", "allow 192.0.2.1;"),
    "deny": _one_of("deny all;", "deny 127.0.0.1;", "deny 192.0.2.1;"),
    "auth_basic": lambda rng, number: [f"auth_basic r{number};" if rng.random() < 0.5 else "auth_basic off;"],
}
FILES: Final[Mapping[str, Lines]] = {
    "index": _some("index A.html;", 2),
    "autoindex": _one_of("autoindex on;", "autoindex off;"),
    "try_files": _one_of("try_files $uri $uri/ =410;", "try_files $uri $uri/ =418;"),
    "return": lambda rng, _: ["return 451;"] if rng.random() < 0.2 else [],
    "rewrite": lambda rng, _: ["rewrite ^ /moved permanent;"] if rng.random() < 0.1 else [],
}
TIMEOUTS: Final[Mapping[str, Lines]] = {
    "proxy_read_timeout": _one_of("proxy_read_timeout 100ms;", "proxy_read_timeout 9s;"),
    "client_body_timeout": _one_of("client_body_timeout 100ms;", "client_body_timeout 9s;"),
}
KINDS: Final[Mapping[str, Mapping[str, Lines]]] = {
    "answers": ANSWERS, "errors": ERRORS, "proxied": PROXIED, "access": ACCESS, "files": FILES, "timeouts": TIMEOUTS,
}  # fmt: skip
# The content of locations, and of "if" in them, by the kind of configuration.
_CONTENT: Final[Mapping[str, Sequence[str]]] = {
    "answers": ('return 200 "$document_root";',),
    "errors": ("return 404;", "return 301 /x;"),
    "proxied": ("proxy_pass http://unix:/tmp/echo.sock;", "proxy_pass http://unix:/tmp/echo.sock;", ""),
    "access": ("proxy_pass http://unix:/tmp/echo.sock;",),
    "files": ("",),
    "timeouts": (f"proxy_pass http://127.0.0.1:{SLOW_PORT};",),
}
# No server contains these directives: a server's return would answer in place of its locations.
_NOT_IN_SERVER: Final = frozenset({"return", "rewrite", "try_files"})
_ECHO: Final = """
server { listen unix:/tmp/echo.sock; add_header X-a 1; add_header X-b 1; add_header X-c 1; add_header X-d 1;
    add_header X-e 1;
    location / { return 200 "$request_method $server_protocol $http_x_a $http_x_b $http_x_c $http_x_d $http_x_e"; } }
"""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A request, with the label of the block that it reaches."""

    host: str
    path: str  # with the request's number as an argument
    label: str
    method: str = "GET"
    body_bytes: int = 0
    sends_body: bool = True


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A configuration of one kind, and its requests."""

    kind: str
    text: str
    questions: tuple[Question, ...]


def draw(seed: int, kind: str, version: Sequence[int], *, servers: int) -> Drawn:
    rng = random.Random(f"{seed} {kind}")  # noqa: S311 - reproducible, not secret
    tree = _Tree(rng, kind, tuple(version))
    text = tree.text(servers)
    return Drawn(kind=kind, text=text, questions=tuple(tree.questions))


class _Tree:
    def __init__(self, rng: random.Random, kind: str, version: tuple[int, ...]) -> None:
        self._rng, self._kind, self._version = rng, kind, version
        self._number = 0
        self.questions: list[Question] = []

    def text(self, servers: int) -> str:
        lines = [
            "daemon on; pid /tmp/inheritance.pid; error_log /tmp/inheritance.log crit; worker_processes 1;",
            "events { worker_connections 1024; } http {",
            "client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxied; fastcgi_temp_path /tmp/fastcgi;",
            "uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi; server_names_hash_max_size 8192;",
            "keepalive_requests 1000000;" + (" auth_basic_user_file /etc/hostname;" if self._kind == "access" else ""),
            "charset_types *;" if self._kind == "answers" else "access_log off;",
            *self._settings("http", 0.35),
            _ECHO if self._kind in {"proxied", "access"} else "",
        ]
        for number in range(servers):
            host = f"s{number}.test"
            lines += [
                f"server {{ listen 127.0.0.1:{PORT}; server_name main.{host} {host};",
                *self._settings("server", 0.35),
            ]
            for place in range(3):
                lines += self._location(host, f"/{place}/", depth=0)
            lines.append("}")
        return "\n".join([*lines, "}"]) + "\n"

    def _settings(self, context: str, share: float) -> list[str]:
        found: list[str] = []
        for name, draw_lines in KINDS[self._kind].items():
            row = directive(name, self._version, context=context)
            is_allowed = row is not None and not (context in {"http", "server"} and name in _NOT_IN_SERVER)
            if is_allowed and self._rng.random() < share and not (name == "alias" and any(map(_is_root, found))):
                self._number += 1
                found += draw_lines(self._rng, self._number)
        self._rng.shuffle(found)
        return found

    def _location(self, host: str, path: str, *, depth: int) -> Iterator[str]:
        rng = self._rng
        label = f"{host}{path}"
        content = rng.choice(_CONTENT[self._kind])
        yield f"location {path} {{"
        settings = self._settings("location", 0.35)
        if self._kind == "files" and not any(map(_is_root, settings)):
            settings.append("alias /srv/files/;")
        yield from settings
        self._ask(host, path, label)
        if self._kind == "files":
            self._ask(host, f"{path}missing", label)
        if self._kind == "answers":
            self._ask(host, path, label, method="POST", body_bytes=3000)
        if self._kind == "timeouts":
            self._ask(host, path, label, method="POST", body_bytes=10, sends_body=False)
        if self._kind != "timeouts" and rng.random() < 0.5:
            yield "if ($arg_if) {"
            yield from self._settings("if in location", 0.35)
            yield content if self._kind in {"answers", "errors"} else ""
            yield "}"
            if self._kind not in {"files", "access"}:
                self._ask(host, f"{path}?if=1", f"{label}if")
        # The content follows "if", since the first return ends the request.
        yield content
        if self._kind in {"access", "proxied"} and rng.random() < 0.5:
            yield "limit_except GET {"
            yield from self._settings("limit_except", 0.5)
            yield "}"
            self._ask(host, path, f"{label}limit_except", method="DELETE")
        if depth < 2:
            yield from self._location(host, f"{path}n/", depth=depth + 1)
        yield "}"

    def _ask(self, host: str, path: str, label: str, **more: Any) -> None:
        number = len(self.questions)
        separator = "&" if "?" in path else "?"
        self.questions.append(Question(host=host, path=f"{path}{separator}id={number}.", label=label, **more))


def _is_root(line: str) -> bool:
    return line.startswith(("root ", "alias "))
