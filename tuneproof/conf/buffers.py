"""The sizes that nginx requires of an upstream's buffers: ngx_http_proxy_merge_loc_conf and its siblings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, problem_at
from tuneproof.conf.values import size_bytes, whole_number

_KINDS: Final = ("proxy", "fastcgi", "uwsgi", "scgi")
# The possible sizes of a memory page, which is a buffer's default size; x86 uses the first.
_PAGES_BYTES: Final = (4 << 10, 16 << 10, 64 << 10)
_NAMES: Final = ("buffer_size", "buffers", "busy_buffers_size", "temp_file_write_size", "max_temp_file_size")
_LEVELS: Final = frozenset({"server", "location", "if", "limit_except"})
_DEFAULT_NUMBER: Final = "8"
_FEWEST: Final = 2


def buffer_problems(
    http: Block, *, changed: Mapping[int, Sequence[str]] | None = None, pages_bytes: Sequence[int] = _PAGES_BYTES
) -> Iterator[Problem]:
    """Yield the errors about buffers that nginx reports whichever of these sizes its memory pages have.

    ``changed``: new arguments of directives, by the id of the statement.
    """
    names = {said.name for said, _ in http.everything()}
    kinds = [kind for kind in _KINDS if any(f"{kind}_{name}" in names for name in _NAMES)]
    levels = (block for block in http.below() if block.name in _LEVELS)
    for block in levels if kinds and not http.absent_sites else ():
        for kind in kinds:
            own = [said for name in _NAMES for said in block.local(f"{kind}_{name}")]
            if (own or block.name == "server") and not block.lacks_includes:
                messages = [_refusal(block, kind, page, changed or {}) for page in pages_bytes]
                if all(messages):
                    yield problem_at(own[-1] if own else block, messages[0])


def refusal_on_x86(said: Statement, http: Block) -> str:
    """Return nginx's error about a size that is wrong on x86, but right with some larger pages; empty for none."""
    kind = said.name.partition("_")[0]
    levels = (block for block in http.below() if block.name in _LEVELS and block.setting(said.name) is said)
    for block in levels if not http.absent_sites else ():
        first, *others = [_refusal(block, kind, page, {}) for page in _PAGES_BYTES]
        if first and not all(others) and not block.lacks_includes:
            return first
    return ""


def _refusal(block: Block, kind: str, page_bytes: int, changed: Mapping[int, Sequence[str]]) -> str:
    """Return the error message on a machine with pages of that size; empty for none, or if buffer sizes are unknown."""
    said = {name: _args(block.setting(f"{kind}_{name}"), changed) for name in _NAMES}
    number, *each = said["buffers"] or (_DEFAULT_NUMBER, str(page_bytes))
    count = whole_number(number)
    one, first = _size(each), _size(said["buffer_size"] or (str(page_bytes),))
    if count is None or one is None or first is None:
        return ""
    largest = max(one, first)
    busy, written, most = (_size(said[name]) for name in _NAMES[2:])
    busy = 2 * largest if busy is None else busy
    at_least = (
        f'equal to or greater than the maximum of the value of "{kind}_buffer_size" and one of the "{kind}_buffers"'
    )
    refusals = (
        (count < _FEWEST, f'there must be at least {_FEWEST} "{kind}_buffers"'),
        (busy < largest, f'"{kind}_busy_buffers_size" must be {at_least}'),
        (
            busy > (count - 1) * one,
            f'"{kind}_busy_buffers_size" must be less than the size of all "{kind}_buffers" minus one buffer',
        ),
        (written is not None and written < largest, f'"{kind}_temp_file_write_size" must be {at_least}'),
        (
            bool(most) and (most or 0) < largest,
            f'"{kind}_max_temp_file_size" must be equal to zero to disable temporary files usage or must be {at_least}',
        ),
    )
    return next((message for is_refused, message in refusals if is_refused), "")


def _args(said: Statement | None, changed: Mapping[int, Sequence[str]]) -> Sequence[str]:
    return () if said is None else changed.get(id(said), said.args)


def _size(args: Sequence[str]) -> int | None:
    return size_bytes(args[0]) if args else None
