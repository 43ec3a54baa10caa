"""The location that finally answers a request, after try_files and error_page, if no requested file exists.

ngx_http_try_files_handler, ngx_http_special_response_handler, ngx_http_script_return_code.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.directives import known
from tuneproof.conf.effective import ANSWERS, Effective, Origin, effective
from tuneproof.conf.locations import named, taken
from tuneproof.conf.regexes import as_bytes_read
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.uris import normalised
from tuneproof.conf.values import whole_number

MOST_REDIRECTS: Final = 10
"""How many internal redirects nginx allows for a request before it answers 500 (NGX_HTTP_MAX_URI_CHANGES)."""
_ERROR: Final = 400
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOVED: Final = 301
_FOUND: Final = 302
_NOT_FOUND: Final = 404
_FAILED: Final = 500
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The part of a configuration that answers a request."""

    blocks: tuple[Block, ...]  # the locations that the request passes, in order; the server if there are none
    status: int | None = None  # the status if nginx itself sets it; None if the handler in the last block determines it
    is_served: bool = False  # whether a handler such as an upstream answers, not nginx's rewrite or error pages
    doubt: str = ""  # why it is uncertain; empty if it is certain

    @property
    def block(self) -> Block:
        """The block that answers."""
        return self.blocks[-1]


def answer(target: str, server: Block, version: Sequence[int], *, merges_slashes: bool = True) -> Answer:
    """Return the answer to a GET request in a server, if none of the files that locations look for exist.

    ``target``: as in the request line. ``merges_slashes``: the setting of the socket's default server.
    """
    path = normalised(target, merges_slashes=merges_slashes)
    if path is None:
        return Answer(blocks=(server,), status=_ERROR)
    return _Request(server, path, tuple(version)).answer()


class _DoubtError(Exception):
    pass


def _diverts(said: tuple[Statement, Block]) -> bool:
    """Tell whether a directive of an ``if`` sends a request elsewhere."""
    name = said[0].name
    return name in {"rewrite", "return", "error_page"} or name.endswith("_pass")


class _Request:
    def __init__(self, server: Block, path: str, version: tuple[int, ...]) -> None:
        self._server = server
        self._path = path
        self._version = version
        self._blocks: list[Block] = []
        self._status: int | None = None  # of the last error, or of its error page; an ordinary ``return`` keeps it
        self._has_failed = False
        self._is_served = False

    def answer(self) -> Answer:
        try:
            self._follow()
            doubt = ""
        except _DoubtError as error:
            doubt = str(error)
        return Answer(
            blocks=tuple(self._blocks) or (self._server,),
            status=self._status,
            is_served=self._is_served,
            doubt=doubt,
        )

    def _follow(self) -> None:
        to = self._path
        for number in range(MOST_REDIRECTS + 2):
            if number > MOST_REDIRECTS:
                # After too many redirects, nginx does not use an error page.
                self._status = _FAILED
                return
            to = self._at_named(to) if to.startswith("@") else self._at_path(to)
            if not to:
                return

    def _at_path(self, path: str) -> str:
        """Return the path or named location to which a path sends the request next; empty if it is answered."""
        self._path = path
        is_first = not self._blocks
        if self._server.local("return"):
            self._blocks.append(self._server)
            return self._at(self._server)
        self._refuse_rewrites(self._server)
        found = taken(path, self._server)
        if found.doubt:
            raise _DoubtError(found.doubt)
        self._blocks.append(found.block)
        if is_first and self._known("internal").statements:
            return self._failed(_NOT_FOUND)
        return self._failed(_MOVED) if found.redirects else self._at(found.block)

    def _at_named(self, name: str) -> str:
        block = named(self._server, as_bytes_read(name))
        if block is None:
            return self._failed(_FAILED)
        self._blocks.append(block)
        return self._at(block)

    def _at(self, block: Block) -> str:
        """Return the path or named location to which a block sends the request next; empty if the block answers."""
        self._refuse_rewrites(block)
        if returns := block.local("return"):
            return self._returned(returns[0])
        if tries := block.local("try_files"):
            last = tries[0].args[-1]
            if last.startswith("="):
                return self._failed(whole_number(last[1:]) or _FAILED)
            if _VARIABLE.search(last) and self._known("alias").statements:
                raise _DoubtError("try_files with variables next to alias is not followed")
            return self._filled(last)
        return self._content(block)

    def _content(self, block: Block) -> str:
        """Return where a request goes next if its file does not exist; empty if the request is answered."""
        self._is_served = any(said.name in ANSWERS or said.name not in known() for said in block.own)
        if self._is_served:
            return ""
        pages = (page for said in self._known("index").statements for page in said.args)
        if self._path.endswith("/") and any(page.startswith("/") or "$" in page for page in pages):
            raise _DoubtError("the index page is elsewhere")
        return self._failed(_NOT_FOUND)

    def _refuse_rewrites(self, block: Block) -> None:
        """Raise _DoubtError if a rewrite, an ``if`` or a ``limit_except`` may decide where a request goes next."""
        for inner in block.blocks:
            if inner.name == "limit_except" and "GET" not in map(str.upper, inner.args):
                raise _DoubtError("limit_except is not followed")
            if inner.name == "if" and (block.local("try_files") or any(map(_diverts, inner.everything()))):
                raise _DoubtError("if is not followed")
        if block.local("rewrite"):
            raise _DoubtError("rewrite is not followed")

    def _returned(self, said: Statement) -> str:
        status = whole_number(said.value)
        if status is None:
            return self._failed(_FOUND)
        if status in _REDIRECTS or (status >= _ERROR and len(said.args) == 1):
            return self._failed(status)
        # The status is sent unchanged, unless an error page has set another.
        self._status = self._status or status
        return ""

    def _failed(self, status: int) -> str:
        """Return the path or named location of the error page for a status; empty if there is none."""
        self._status = status
        pages = self._known("error_page").statements
        if not pages or self._has_failed:
            return ""
        # Without recursive_error_pages, only the first error in a block with error pages can have one.
        self._has_failed = self._known("recursive_error_pages").value != "on"
        said = next((one for one in pages if str(status) in one.args[:-1]), None)
        if said is None:
            return ""
        last, to = said.args[-2:]
        if last.startswith("="):
            self._status = whole_number(last[1:])
        to = self._filled(to)
        if not to.startswith(("/", "@")):
            self._status = self._status if self._status in _REDIRECTS else _FOUND
            return ""
        return to

    def _known(self, name: str) -> Effective:
        """Return the setting in effect for the request's current block.

        Raises _DoubtError: The setting is unknown.
        """
        found = effective(self._blocks[-1] if self._blocks else self._server, name, self._version)
        if found.origin is Origin.UNKNOWN:
            raise _DoubtError(f"{name} is not known here")
        return found

    def _filled(self, text: str) -> str:
        """Return a text with the values of its variables, without its query string.

        Raises _DoubtError: The text has variables other than those for the request's path and arguments.
        """
        values: Mapping[str, str] = {"uri": self._path, "document_uri": self._path, "is_args": "", "args": ""}

        def value(match: re.Match[str]) -> str:
            name = (match[1] or match[2]).lower()
            if name not in values:
                raise _DoubtError(f"${name} is known only when a request comes")
            return values[name]

        return _VARIABLE.sub(value, as_bytes_read(text)).partition("?")[0]
