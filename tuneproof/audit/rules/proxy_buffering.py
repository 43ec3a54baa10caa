"""Finds memory that slow readers can hold: "Nginx OOM in a stress test of a million connections"."""

from collections.abc import Iterator, Sequence
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.patches import Edit, Replace
from tuneproof.conf.buffers import buffer_problems
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.upstreams import Target
from tuneproof.conf.values import nginx_size, size_bytes
from tuneproof.wording import size

NAME: Final = "proxy_buffering"
RANK: Final = 1
CLAIM: Final = "slow_reader_takes_the_bound"
# A thousand readers that each hold this much cost almost 1 GiB.
LARGE_BYTES: Final = 1 << 20
# Below both measured values, 68 MiB and 1088 MiB.
_HARMFUL_BYTES: Final = 64 << 20
_READERS: Final = 1000
# Large headers, for which somebody enlarged the first buffer, still fit into this much.
_MOST_FIRST_BYTES: Final = 32 << 10
_BUFFERS: Final = 8
_PAGE_BYTES: Final = 4 << 10


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield each place where slow readers are expensive, and each that does not buffer responses."""
    for proxied in facts.proxied:
        target, held = proxied.target, proxied.reader_bytes
        if target.kind not in {"proxy", "fastcgi", "uwsgi", "scgi"} or held is None:
            continue
        if held >= LARGE_BYTES:
            unseen = _hidden_by(target)
            edits = () if unseen else _remedy(proxied)
            why = (
                f"one slow reader can make a worker hold {size(held)} ({_what_it_holds(proxied)}); {_READERS} of them, "
                f"{size(held * _READERS)}"
            )
            state = State.HARMFUL if held >= _HARMFUL_BYTES else State.MISSING
            if unseen:
                why, state = f"{why}, unless {unseen}, which is not in these files, sets other sizes", State.CANNOT_TELL
            price = _price(proxied, edits)
            yield Advised(name=NAME, claim=CLAIM, state=state, at=target.statement, why=why, edits=edits, price=price)
        elif not proxied.is_buffered:
            why = f"one slow reader costs a worker {size(held)}, and occupies its backend until it has read everything"
            claim = "buffering_off_is_bounded"
            yield Advised(name=NAME, claim=claim, state=State.IN_EFFECT, at=target.statement, why=why)


def _hidden_by(target: Target) -> str:
    """Return the missing file that may set or disable a buffer; empty if there is none."""
    if not any(target.block.hides(f"{target.kind}_{name}") for name in ("buffering", "buffer_size", "buffers")):
        return ""
    return next(name for level in target.block.within() for name in level.unseen)


def _what_it_holds(proxied: Proxied) -> str:
    first, others = f"{proxied.target.kind}_buffer_size", f"all of {proxied.target.kind}_buffers"
    return f"{first}, {others} and output_buffers" if proxied.output_bytes else f"{first} and {others}"


def _price(proxied: Proxied, edits: Sequence[Edit]) -> str:
    """Return the cost of smaller buffers, in words."""
    kind, block = proxied.target.kind, proxied.target.block
    name = f"{kind}_buffer_size"
    smaller = [edit.text for edit in edits if isinstance(edit, Replace) and edit.old.name == name]
    limit = "".join(smaller).removeprefix(f"{name} ").removesuffix(";")
    most = block.setting(f"{kind}_max_temp_file_size")
    prices = [f"response headers above {limit} are answered with 502"] if limit else []
    if most is not None and size_bytes(most.value) == 0:
        prices.append(f"the backend waits for slow clients ({most.name} is 0)")
    return " and ".join(prices)


def _remedy(proxied: Proxied) -> tuple[Edit, ...]:
    """Return the changes to smaller buffers; the rest of a response goes to a file, as it does by default."""
    kind, block = proxied.target.kind, proxied.target.block
    buffer_size = block.setting(f"{kind}_buffer_size")
    first = size_bytes(buffer_size.value) if buffer_size else _PAGE_BYTES
    each = min(first or _PAGE_BYTES, _MOST_FIRST_BYTES)
    wanted = {
        f"{kind}_buffer_size": nginx_size(each),
        f"{kind}_buffers": f"{_BUFFERS} {nginx_size(each)}",
        f"{kind}_busy_buffers_size": nginx_size(2 * each),
        f"{kind}_temp_file_write_size": nginx_size(2 * each),
    }
    said = [statement for name in wanted if (statement := block.setting(name)) is not None]
    changed = [statement for statement in said if " ".join(statement.args) != wanted[statement.name]]
    http = block.around("http")
    if http is None or (http.absent_sites and any(statement in http.own for statement in changed)):
        return ()
    # Other blocks may inherit some of these lines.
    arguments = {id(statement): wanted[statement.name].split() for statement in changed}
    if any(buffer_problems(http, changed=arguments, pages_bytes=[_PAGE_BYTES])):
        return ()
    return tuple(Replace(old=statement, text=f"{statement.name} {wanted[statement.name]};") for statement in changed)
