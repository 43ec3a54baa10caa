"""Decides for each location whether connections to its upstream are reused, and why not.

Sources: https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive, the change log of 1.29.7, and
src/http/ngx_http_upstream.c: only an explicit upstream{} has a cache of connections. The catalogue measures reuse in
upstream_keepalive.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block
from tuneproof.conf.upstreams import DEFAULT_SINCE, KEPT_SINCE, Target, Upstream
from tuneproof.conf.variables import entries, possible_values, table_of, variables

_VARIABLE: Final = re.compile(r"\$\{?(\w+)")
# Values in an upstream block with which ngx_http_upstream_free_keepalive_peer keeps no connection.
_CLOSING: Final = {"keepalive_requests": frozenset("01"), "keepalive_timeout": frozenset({"0", "0s", "0ms"})}
_PERSISTENT: Final = frozenset({"1.1", "2", "3"})


class Reuse(StrEnum):
    """Whether connections to the upstream are reused."""

    YES = "yes"
    NO = "no"
    DEPENDS = "depends"
    UNKNOWN = "unknown"


class Lack(StrEnum):
    """A setting that prevents the reuse of connections."""

    BLOCK = "no upstream block"
    CACHE = "no keepalive in the upstream block"
    LIMIT = "a limit in the upstream block"
    ORDER = "keepalive before the balancing method"
    VERSION = "HTTP/1.0"
    HEADER = "Connection header"
    SWITCH = "fastcgi_keep_conn"
    PROTOCOL = "protocol"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Whether connections are reused, with the reason."""

    reuse: Reuse
    why: str
    lacks: tuple[Lack, ...] = ()  # what prevents reuse, if anything does
    culprit: Statement | Block | None = None
    """The directive or table that decides this; None if none does."""
    asks: bool = False  # whether a header requests keepalive, as HTTP/1.0 requires


def judge(target: Target, upstreams: Mapping[str, Upstream], version: tuple[int, ...], *, is_whole: bool) -> Judgement:
    """Judge one proxied location; ``is_whole``: whether all upstream blocks are known."""
    if target.kind in {"uwsgi", "scgi"}:
        why = f"{target.kind} has no persistent connections: each request opens one and closes it"
        return Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.PROTOCOL,))
    names = target.names()
    if names is None:
        return _of_unknown_name(target, upstreams, is_whole=is_whole)
    blocks = [upstreams.get(name) for name in sorted(names)]
    if None in blocks:
        return _of_implicit(target, sorted(names), upstreams, is_whole=is_whole)
    judged = [_of_block(target, upstream, version) for upstream in blocks if upstream is not None]
    first, *others = judged
    if all(other.reuse is first.reuse for other in others):
        return first
    return Judgement(reuse=Reuse.DEPENDS, why=f"{target.host} is one of {', '.join(sorted(names))}, and they differ")


def _of_unknown_name(target: Target, upstreams: Mapping[str, Upstream], *, is_whole: bool) -> Judgement:
    if is_whole and not any(target.may_be(name) for name in upstreams):
        why = f"{target.host} cannot name an upstream block in these files; connections are reused only through one"
        return Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.BLOCK,))
    # nginx's own variables are in lower case; placeholders for envsubst are usually in upper case.
    is_filled_in = any(name.isupper() and not _is_set(name, target.block) for name in _VARIABLE.findall(target.host))
    when = "is not set in these files" if is_filled_in else "is known only at request time"
    why = f"{target.host} {when}: connections are reused only if it names an upstream block"
    return Judgement(reuse=Reuse.UNKNOWN, why=why)


def _is_set(name: str, block: Block) -> bool:
    """Tell whether a directive defines a variable, or a regular expression has a group with its name."""
    everything = list(list(block.within())[-1].everything())
    is_made = any(f"${name}" in one.args[:1] and not one.name.endswith("_pass") for one, _ in everything)
    is_group = any(f"<{name}>" in arg for one, around in everything for arg in (*one.args, *around.args))
    return is_made or is_group or table_of(name.lower(), block) is not None


def _of_implicit(target: Target, names: list[str], upstreams: Mapping[str, Upstream], *, is_whole: bool) -> Judgement:
    missing = [name for name in names if name not in upstreams]
    if len(missing) < len(names):
        listed = ", ".join(name or '""' for name in names)
        why = f"{target.host} is one of {listed}; connections are reused only through upstream blocks"
        return Judgement(reuse=Reuse.DEPENDS, why=why)
    if not is_whole and all(map(_may_be_elsewhere, missing)):
        why = f"upstream {missing[0]} is not in these files; if it is not an upstream block, connections are not reused"
        return Judgement(reuse=Reuse.UNKNOWN, why=why)
    through = "a variable" if variables(target.host) else "an address"
    why = f"{target.host} is {through}, not an upstream block: nginx opens a connection for every request"
    return Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.BLOCK,))


def _may_be_elsewhere(name: str) -> bool:
    """Tell whether a name may be an upstream block's: not "localhost", nor one with a colon or without letters."""
    is_address = name.startswith("unix:") or not any(letter.isalpha() for letter in name)
    return not is_address and ":" not in name and name != "localhost"


def _of_block(target: Target, upstream: Upstream, version: tuple[int, ...]) -> Judgement:
    found = list(_obstacles(target, upstream, version))
    stops = [one for one in found if one.reuse is Reuse.NO]
    unseen = [name for block in (*target.block.within(), upstream.block) for name in block.unseen]
    if unseen and found and all(one.culprit is None for one in stops or found):
        why = "; ".join(one.why for one in stops or found)
        return Judgement(
            reuse=Reuse.UNKNOWN, why=f"{why}, unless {unseen[0]}, which is not in these files, changes that"
        )
    if stops:
        lacks = tuple(one.lacks[0] for one in stops)
        culprit = next((one.culprit for one in stops if one.culprit is not None), None)
        return Judgement(reuse=Reuse.NO, why="; ".join(one.why for one in stops), lacks=lacks, culprit=culprit)
    if found:
        return found[0]
    default = "" if upstream.statement else f", nginx's default since {KEPT_SINCE}"
    why = f"upstream {upstream.name} keeps up to {upstream.keepalive} idle connections per worker{default}"
    return Judgement(reuse=Reuse.YES, why=why)


def _obstacles(target: Target, upstream: Upstream, version: tuple[int, ...]) -> Iterator[Judgement]:
    """Yield everything that prevents, or may prevent, keeping connections to an upstream block."""
    if upstream.discarded_by is not None:
        method = upstream.discarded_by
        why = f"{method.name} ({method.file}:{method.line}) comes after keepalive and replaces it before {KEPT_SINCE}"
        yield Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.ORDER,), culprit=method)
    elif not upstream.keepalive:
        said = "has keepalive 0" if upstream.statement is not None else "has no keepalive"
        why = f"upstream {upstream.name} {said}"
        yield Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.CACHE,), culprit=upstream.statement)
    limit = next(
        (said for said in upstream.block.own if said.args[:1] and said.value in _CLOSING.get(said.name, ())), None
    )
    if limit is not None:
        why = f"{limit.name} {limit.value} ({limit.file}:{limit.line}) closes connections after one request"
        yield Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.LIMIT,), culprit=limit)
    if target.kind == "fastcgi":
        switch = target.block.setting("fastcgi_keep_conn")
        if switch is None or switch.value != "on":
            yield Judgement(reuse=Reuse.NO, why="fastcgi_keep_conn is off", lacks=(Lack.SWITCH,), culprit=switch)
    elif target.kind == "proxy":
        header = connection_header(target.block, version)
        yield from _of_version(target.block.setting("proxy_http_version"), version, header)
        if header.reuse is Reuse.NO:
            yield replace(header, lacks=(Lack.HEADER,))
        elif header.reuse is not Reuse.YES:
            yield header


def _of_version(said: Statement | None, version: tuple[int, ...], header: Judgement) -> Iterator[Judgement]:
    spoken = said.value if said else ("1.1" if version >= DEFAULT_SINCE else "1.0")
    if spoken in _PERSISTENT:
        return
    if header.asks:
        why = "HTTP/1.0 with Connection: keep-alive works with some backends only"
        yield Judgement(reuse=Reuse.DEPENDS, why=why)
        return
    default = "" if said else f", the default before nginx {KEPT_SINCE}"
    why = f"nginx speaks HTTP/{spoken} to the upstream{default}"
    yield Judgement(reuse=Reuse.NO, why=why, lacks=(Lack.VERSION,), culprit=said)


def connection_header(block: Block, version: tuple[int, ...]) -> Judgement:
    """Judge the Connection header sent to the upstream with ordinary requests, which do not switch protocols."""
    headers = [item for item in block.in_effect("proxy_set_header") if item.value.lower() == "connection"]
    if not headers:
        if version >= DEFAULT_SINCE:
            return Judgement(reuse=Reuse.YES, why="no Connection header is sent")
        lost = next((level for level in block.within() if _has_connection(level)), None)
        hidden = (
            f" (proxy_set_header at {lost.file}:{lost.line} does not apply here: an inner block sets its own headers)"
            if lost is not None
            else ""
        )
        why = f"nginx sends Connection: close by default{hidden}"
        return Judgement(reuse=Reuse.NO, why=why)
    found = [_of_value(statement, block) for statement in headers]
    worst = (Reuse.NO, Reuse.DEPENDS, Reuse.UNKNOWN, Reuse.YES)
    return min(found, key=lambda judgement: worst.index(judgement.reuse))


def _has_connection(block: Block) -> bool:
    return any(item.value.lower() == "connection" for item in block.local("proxy_set_header"))


def _of_value(statement: Statement, block: Block) -> Judgement:
    written = statement.args[1] if len(statement.args) > 1 else ""
    at = f"{statement.file}:{statement.line}"
    names = variables(written)
    table = table_of(names[0], block) if len(names) == 1 and written.strip("${}").lower() == names[0] else None
    if table is not None and table.name == "map" and table.args[0].lower() in {"$http_upgrade", "${http_upgrade}"}:
        # Ordinary requests have no Upgrade header, so the empty key applies to them.
        values = entries(table)
        sent = values.get("", values.get("default", ""))
        return _of_text(sent, f"map {table.args[-1]} ({table.file}:{table.line})", table)
    values_of = possible_values(written, block)
    if values_of is None:
        why = f"Connection is {written} ({at}), which is known only at request time"
        return Judgement(reuse=Reuse.DEPENDS, why=why, culprit=statement)
    judged = [_of_text(value, f"proxy_set_header at {at}", statement) for value in sorted(values_of)]
    if all(one.reuse is judged[0].reuse for one in judged):
        return judged[0]
    why = f"Connection is {written} ({at}), which may be {' or '.join(repr(value) for value in sorted(values_of))}"
    return Judgement(reuse=Reuse.DEPENDS, why=why, culprit=statement)


def _of_text(sent: str, where: str, culprit: Statement | Block) -> Judgement:
    tokens = {token.strip().lower() for token in sent.split(",")}
    if "close" in tokens:
        why = f"{where} sends Connection: close with every ordinary request"
        return Judgement(reuse=Reuse.NO, why=why, culprit=culprit)
    if tokens <= {"", "keep-alive"}:
        asks = "keep-alive" in tokens
        return Judgement(reuse=Reuse.YES, why=f"{where} leaves the connection open", culprit=culprit, asks=asks)
    if variables(sent):
        why = f"{where} sends {sent}, which is known only at request time"
        return Judgement(reuse=Reuse.DEPENDS, why=why, culprit=culprit)
    why = f"{where} sends Connection: {sent} with every request; the backend decides whether it then stays open"
    return Judgement(reuse=Reuse.DEPENDS, why=why, culprit=culprit)
