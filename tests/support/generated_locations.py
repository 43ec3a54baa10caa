"""Random servers from a seed, with locations of every kind, and requests for similar paths.

The header X-Location of a response identifies the block that it came from.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MERGING_PORT: Final = 8001
"""On this port, nginx merges slashes; on the next one, it does not."""
PIECES: Final = ("a", "b", "ab", "im", "api", "v1", "x.php", "i.jpg", "A", "c d", "%", "é")
_SUFFIXES: Final = ("/", "/q", "/x.php", ".php", "/i.jpg", "/I.JPG", "2", "/a/b", "//", "/./", "/b/../c")
REGEXES: Final = (
    r"\.php$", r"\.(php|jpg)$", r"\.JPG$", "^/api/", "^/(a|b)/", "^/[ab]+$", "/im", r"^/(?<piece>\w+)/", r"\d+",
    "^/a(?!b)", "^/(?:api|im)(/|$)", "a++b", "[^/]+/$", "^/$", r"^/(.+)\.php(/.*)?$", r"\b(v1|im)\b", "(?i)^/API",
    "^/a b", r"/(?P<n>[a-z]{2,3})/", r"^/\S+$", r"\.(?:jpe?g|png)\z", ".", "q|c",
)  # fmt: skip
# Python's ``re`` rejects these patterns or reads them differently from PCRE.
FOREIGN: Final = (r"^/a\Kb", r"(?|^/im|^/v1)$", r"^/\Qa\E/", "[[:upper:]]/")
CODES: Final = (403, 404, 410, 418, 500, 503)
MODIFIERS: Final = ("", "", "", "^~ ", "= ", "= ", "~ ", "~* ")


_CHANGES: Final[Sequence[Callable[[str], str]]] = (
    lambda path: path.replace("/", "//", 1),
    lambda path: path.replace("/", "/%2e/", 1),
    lambda path: f"/b/..{path}",
    lambda path: path.replace("a", "%61", 1),
    lambda path: f"{path}%zz",
    lambda path: f"{path}/../../../../../..",
    lambda path: f"{path}%00",
    lambda path: path if "%" in path else path.upper(),
    lambda path: f"{path}?x=/../..",
    lambda path: f"{path}#x",
    lambda path: f"{path}?a#b",
    lambda path: f"/{path[1:].replace('/', '%2F', 1)}",
)


@dataclass(frozen=True, kw_only=True)
class Request:
    server: int
    port: int
    host: str
    target: str


@dataclass(kw_only=True)
class Drawn:
    text: str
    requests: list[Request] = field(default_factory=list)


def draw(seed: int, *, servers: int, requests: int) -> Drawn:
    """Draw a configuration with this many servers, and this many requests for each of them."""
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    drawn = Drawn(text="")
    blocks = []
    for number in range(servers):
        server = _Server(rng, number)
        blocks.append(server.text())
        port = MERGING_PORT + rng.choice((0, 0, 1))
        drawn.requests += (
            Request(server=number, port=port, host=f"s{number}.test", target=target)
            for target in server.targets(requests)
        )
    drawn.text = _HEAD + "\n".join(blocks) + "\n}\n"
    return drawn


_HEAD: Final = f"""daemon on; pid /tmp/locations.pid; error_log /tmp/locations.log crit; worker_processes 1;
events {{ worker_connections 512; }}
http {{
access_log off; keepalive_requests 1000000; server_names_hash_max_size 8192; server_names_hash_bucket_size 128;
root /nonexistent; absolute_redirect off; client_body_temp_path /tmp/body; proxy_temp_path /tmp/proxied;
fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi; scgi_temp_path /tmp/scgi;
server {{ listen 127.0.0.1:{MERGING_PORT} default_server; return 421; }}
server {{ listen 127.0.0.1:{MERGING_PORT + 1} default_server; merge_slashes off; return 421; }}
server {{ listen unix:/tmp/stub.sock; location / {{ return 200 proxied; }} }}
"""


class _Server:
    def __init__(self, rng: random.Random, number: int) -> None:
        self._rng = rng
        self._number = number
        self._named = ["@one", "@two"] if rng.random() < 0.5 else []
        self._names: list[str] = []
        self._labels = 0
        self._answers: Mapping[str, Callable[[], str]] = {
            "a file that does not exist": lambda: "",
            "an upstream": lambda: "proxy_pass http://unix:/tmp/stub.sock;",
            "try_files": self._try_files,
            "an error": lambda: f"return {rng.choice(CODES)};",
            "a text with the status of an error": lambda: f"return {rng.choice(CODES)} text;",
            "a redirect": lambda: f"return {rng.choice((301, 302, 307))} /elsewhere;",
            "a text": lambda: "return 200 ok;",
        }
        self._has_foreign = rng.random() < 0.035

    def text(self) -> str:
        rng = self._rng
        lines = [
            f"server {{ listen 127.0.0.1:{MERGING_PORT}; listen 127.0.0.1:{MERGING_PORT + 1};",
            f"server_name s{self._number}.test;",
            self._label(),
            *self._error_pages(),
            "return 404;" if rng.random() < 0.03 else self._try_files(),
        ]
        lines += self._locations("", rng.randint(3, 9), depth=0)
        for name in self._named:
            lines += (f"location {name} {{", self._label(), *self._content(name), "}")
        return "\n".join([*lines, "}"])

    def _locations(self, outer: str, count: int, *, depth: int) -> Iterator[str]:
        rng, seen = self._rng, set()
        for _ in range(count):
            modifier = rng.choice(MODIFIERS)
            if modifier.startswith("~"):
                name = rng.choice(FOREIGN if self._has_foreign and rng.random() < 0.3 else REGEXES)
            else:
                name = outer + self._path(is_whole=not outer)
            kind = "=" if modifier == "= " else modifier if modifier.startswith("~") else "prefix"
            if (kind, name) in seen:
                continue
            seen.add((kind, name))
            self._names.append(name)
            written = _quoted(name)
            joined = modifier.strip() if rng.random() < 0.2 and not written.startswith('"') else modifier
            yield f"location {joined}{written} {{"
            yield self._label()
            yield from self._content(name if not modifier.startswith("~") else "")
            may_nest = modifier != "= " and depth < 2
            if may_nest and rng.random() < 0.3:
                # A nested prefix must begin with the outer name, even if that is a regular expression.
                inner = name if not modifier.startswith("~") or name == "/im" else None
                yield from self._locations(inner, rng.randint(1, 3), depth=depth + 1) if inner is not None else ()
            yield "}"

    def _label(self) -> str:
        self._labels += 1
        return f"add_header X-Location {self._number}.{self._labels} always;"

    def _path(self, *, is_whole: bool) -> str:
        rng = self._rng
        pieces = [rng.choice(PIECES) for _ in range(rng.choice((0, 1, 1, 1, 2, 2)))]
        # At the outermost level, an empty path is "/".
        path = ("/" if is_whole or rng.random() < 0.5 else "") + "/".join(pieces)
        return path + ("/" if pieces and rng.random() < 0.6 else "")

    def _content(self, prefix: str) -> Iterator[str]:
        """Yield the lines that decide how a location responds."""
        rng = self._rng
        if rng.random() < 0.08:
            yield "internal;"
        if rng.random() < 0.2:
            yield from self._error_pages()
        what, *_ = rng.choices(tuple(self._answers), weights=(10, 20, 20, 20, 5, 5, 20))
        if rng.random() < 0.1:
            yield "set $y 1;" if what == "try_files" else "if ($http_x_never) { set $y 1; }"
        if rng.random() < 0.004:
            yield f"if ($http_x_never) {{ return {rng.choice(CODES)}; }}"
        yield self._answers[what]()
        if prefix.endswith("/") and rng.random() < 0.01:
            yield "alias /nonexistent/;"

    def _try_files(self) -> str:
        rng = self._rng
        last = rng.choice(
            ("=404", "=410", "/im", "/api/v1", "/x.php?$args", "/a$uri", "$uri/q", "im/x", *self._named, *self._named)
        )
        return f"try_files $uri $uri/ {last};"

    def _error_pages(self) -> Iterator[str]:
        rng = self._rng
        if rng.random() < 0.4:
            for _ in range(rng.randint(1, 2)):
                codes = " ".join(map(str, rng.sample(CODES, rng.randint(1, 3))))
                answer = rng.choice(("", "", "=", "=200", "=404"))
                to = rng.choice(("/im", "/x.php?a=b", "/error$uri", "https://e.test/", *self._named, *self._named))
                yield f"error_page {codes} {answer} {to};"
            if rng.random() < 0.2:
                yield "recursive_error_pages on;"

    def targets(self, count: int) -> Iterator[str]:
        """Yield request targets: most are names of the server's locations, with or without small changes."""
        rng = self._rng
        for _ in range(count):
            name = rng.choice(self._names) if rng.random() < 0.85 else ""
            if not name.startswith("/"):
                name = self._path(is_whole=True)
            if rng.random() < 0.35:
                name = name.rstrip("/") or "/"
            path = _escaped(name + (rng.choice(_SUFFIXES) if rng.random() < 0.6 else ""))
            yield rng.choice(_CHANGES)(path) if rng.random() < 0.3 else path


def _quoted(name: str) -> str:
    # nginx reads two backslashes as one.
    return '"{}"'.format(name.replace("\\", "\\\\")) if set(name) & set(" {};") else name


def _escaped(path: str) -> str:
    return "".join(
        letter
        if letter.isascii() and letter not in ' %"<>^{}|\\?#'
        else "".join(f"%{byte:02X}" for byte in letter.encode())
        for letter in path
    )
