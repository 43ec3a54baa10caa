"""Finds upstream connections that are not reused: "Upstream keepalive doubles an ingress controller's throughput"."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.new_upstream import named_block
from tuneproof.audit.patches import Before, Edit, Insert, Replace, place_of, setting
from tuneproof.conf.facts import Facts, Proxied
from tuneproof.conf.reuse import Lack, Reuse, connection_header
from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Block, is_given
from tuneproof.conf.upstreams import DEFAULT_SINCE, KEPT_SINCE, METHODS, Upstream
from tuneproof.conf.variables import variables

NAME: Final = "upstream_keepalive"
RANK: Final = 0
CLAIM: Final = "connections_are_the_cause"
_IDLE_CONNECTIONS: Final = 32
# This must be shorter than the backend's own timeout, which is 5 s for Node; nginx's default is 60 s
# (docs/dying-connections.md).
_IDLE_TIMEOUT: Final = "keepalive_timeout 4s;"
_PINNED: Final = (
    "each idle connection occupies a PHP-FPM child, so keepalive helps only if there are more children than "
    "idle connections in all workers together"
)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield a finding on connection reuse for each proxied location, except for protocols without reuse."""
    # With non_idempotent, nginx sends a POST again if a reused connection fails: a person must choose.
    is_safe = not any("non_idempotent" in said.args for said, _ in facts.configuration.main.everything())
    remedies = {id(one): _remedy(facts, one) for one in facts.proxied if is_safe and _may_be_changed(one)}
    included: defaultdict[tuple[str, int], list[Proxied]] = defaultdict(list)
    for proxied in facts.proxied:
        said = proxied.target.statement
        included[said.file, said.span.start].append(proxied)
    for proxied in facts.proxied:
        reuse = proxied.reuse
        at = proxied.target.statement
        if Lack.PROTOCOL in reuse.lacks:
            continue
        if reuse.reuse is Reuse.YES:
            yield _working(facts, proxied)
        elif reuse.reuse is Reuse.NO and proxied.target.kind == "fastcgi":
            why, is_routine = f"{reuse.why}; {_PINNED}", Lack.BLOCK in reuse.lacks
            yield Advised(name=NAME, claim=CLAIM, state=State.CANNOT_TELL, at=at, why=why, routine=is_routine)
        elif reuse.reuse is Reuse.NO:
            edits = remedies.get(id(proxied), ())
            others = included[at.file, at.span.start]
            if any(_of_file(at, remedies.get(id(one), ())) != _of_file(at, edits) for one in others):
                # Another server that includes the file needs other changes.
                edits = ()
            tried = reuse.culprit is not None or _is_asked_for(facts, proxied)
            state = State.WITHOUT_EFFECT if tried and Lack.BLOCK not in reuse.lacks else State.MISSING
            is_routine = state is State.MISSING
            yield Advised(
                name=NAME,
                claim=CLAIM,
                state=state,
                at=at,
                why=_sentence(proxied),
                edits=edits,
                price=_price(edits),
                routine=is_routine,
            )
        else:
            yield Advised(name=NAME, claim=CLAIM, state=State.CANNOT_TELL, at=at, why=reuse.why)


def _sentence(proxied: Proxied) -> str:
    cost = "a new connection for every request"
    if Lack.BLOCK not in proxied.reuse.lacks:
        return f"{proxied.reuse.why}: {cost}"
    if variables(proxied.target.host):
        return proxied.reuse.why
    return f"{proxied.reuse.why}; an upstream block with keepalive in its place could reuse connections"


def _price(edits: Sequence[Edit]) -> str:
    """Return the patch's other effects, in words. Source for the repeated request: ngx_http_upstream_next."""
    is_newer = any("proxy_http_version 1.1;" in edit.text for edit in edits if not isinstance(edit, Before))
    chunks = "the backend gets HTTP/1.1 and may answer in chunks, and " if is_newer else ""
    return f"{chunks}a request that fails on a reused connection is tried once more, except a sent POST, LOCK or PATCH"


def _working(facts: Facts, proxied: Proxied) -> Advised:
    target = proxied.target
    own = [item for item in _lines_for_it(facts, proxied) if item is not None]
    if facts.version_numbers >= DEFAULT_SINCE and own and not any(_hides_outer(item, target.block) for item in own):
        size = _explicit(facts, proxied)
        # The default is "keepalive 32 local": without an explicit keepalive, locations do not share connections.
        is_default = (
            size is None
            or size.statement is None
            or (
                size.keepalive <= _IDLE_CONNECTIONS
                and is_given(size.statement)
                and (size.is_local or len(facts.passing_to(size.name)) == 1)
            )
        )
        if is_default:
            lines = ", ".join(f"{item.name} ({item.file}:{item.line})" for item in own)
            why = f"connections are reused, as they would be without {lines}: the default since nginx {KEPT_SINCE}"
            return Advised(name=NAME, claim=CLAIM, state=State.EXPIRED, at=target.statement, why=why)
    return Advised(name=NAME, claim=CLAIM, state=State.IN_EFFECT, at=target.statement, why=proxied.reuse.why)


def _lines_for_it(facts: Facts, proxied: Proxied) -> list[Statement | None]:
    """Return the directives that serve only keepalive; None in place of a missing one."""
    block = proxied.target.block
    upstream = _explicit(facts, proxied)
    if proxied.target.kind != "proxy":
        return [upstream.statement if upstream else None]
    headers = [item for item in block.in_effect("proxy_set_header") if item.args[:1] and _is_empty_connection(item)]
    version = block.setting("proxy_http_version")
    # Version 2 is not the default.
    is_default = version is None or version.value == "1.1"
    return [upstream.statement if upstream else None, version if is_default else None, *headers]


def _hides_outer(said: Statement, block: Block) -> bool:
    """Tell whether outer lines would take effect if a directive were removed."""
    level = next((level for level in block.within() if said in level.own), None)
    return level is not None and level.parent is not None and bool(level.parent.in_effect(said.name))


def _is_empty_connection(statement: Statement) -> bool:
    return statement.value.lower() == "connection" and statement.args[1:] == ("",)


def _explicit(facts: Facts, proxied: Proxied) -> Upstream | None:
    names = proxied.target.names() or ()
    return next((facts.upstreams[name] for name in names if name in facts.upstreams), None)


def _is_asked_for(facts: Facts, proxied: Proxied) -> bool:
    """Tell whether the configuration tries to keep connections here."""
    upstream = _explicit(facts, proxied)
    return upstream is not None and upstream.statement is not None and upstream.keepalive > 0


def _may_be_changed(proxied: Proxied) -> bool:
    """Tell whether a location reuses no connections, and no missing include in it or its server may change that."""
    reuse = proxied.reuse
    is_wanted = reuse.reuse is Reuse.NO and Lack.PROTOCOL not in reuse.lacks
    return is_wanted and not any(level.unseen for level in proxied.target.block.within() if level.around("server"))


def _of_file(at: Statement, edits: Sequence[Edit]) -> list[Edit]:
    return [edit for edit in edits if not isinstance(edit, Before) and place_of([edit]).startswith(f"{at.file}:")]


def _remedy(facts: Facts, proxied: Proxied) -> tuple[Edit, ...]:
    """Return the changes with which nginx keeps connections to the upstream; empty if a person must choose."""
    lacks, target = proxied.reuse.lacks, proxied.target
    # An "if" and a limit_except inherit directives that nginx does not allow in them.
    block = target.block.around("location") or target.block
    behind = next((said for said in block.own if said.name == f"{target.kind}_pass"), block)
    upstream = _explicit(facts, proxied)
    names = target.names() or ()
    if Lack.LIMIT in lacks:
        return ()
    if Lack.BLOCK in lacks:
        return _with_new_block(facts, proxied)
    header = connection_header(block, facts.version_numbers).reuse if target.kind == "proxy" else Reuse.YES
    if upstream is None or len(names) != 1 or header not in {Reuse.YES, Reuse.NO}:
        return ()
    edits: list[Edit] = []
    if Lack.CACHE in lacks or Lack.ORDER in lacks:
        cache = _cache_of(upstream)
        if not upstream.servers or not cache:
            return ()
        edits += cache
    if not upstream.block.local("keepalive_timeout"):
        # dying_connections proposes the same edit, so that both become one.
        edits.append(setting(upstream.block, _IDLE_TIMEOUT))
    if Lack.VERSION in lacks:
        edits.append(_set(block, "proxy_http_version", "1.1", behind))
    if Lack.HEADER in lacks:
        added = _header(facts, block, behind)
        if added is None:
            return ()
        edits.append(added)
    return tuple(edits)


def _cache_of(upstream: Upstream) -> Sequence[Edit]:
    """Return the changes that make an upstream block keep idle connections; they go last, after any balancing method.

    Empty if an included file has the method or the old line: other blocks may include it.
    """
    said, wanted, block = upstream.statement, f"keepalive {_IDLE_CONNECTIONS};", upstream.block
    if said is not None and upstream.discarded_by is None:
        return [Replace(old=said, text=wanted)]
    own = [one for one in block.own if one.file == block.file]
    if any(one.name in METHODS and one not in own for one in block.own) or (said is not None and said not in own):
        return []
    moved = [Replace(old=said, text="")] if said is not None else []
    wanted = f"keepalive {' '.join(said.args)};" if said is not None else wanted
    return [*moved, Insert(after=own[-1] if own else block, text=wanted)]


def _with_new_block(facts: Facts, proxied: Proxied) -> tuple[Edit, ...]:
    block = proxied.target.block
    is_default = facts.version_numbers >= DEFAULT_SINCE
    settings = (_IDLE_TIMEOUT,) if is_default else (f"keepalive {_IDLE_CONNECTIONS};", _IDLE_TIMEOUT)
    edits = named_block(facts, proxied.target, settings=settings)
    judged = connection_header(block, facts.version_numbers)
    if not edits or judged.reuse not in {Reuse.YES, Reuse.NO}:
        return ()
    if not is_default:
        version = block.setting("proxy_http_version")
        if version is None or version.value != "1.1":
            edits.append(_set(block, "proxy_http_version", "1.1", proxied.target.statement))
    if judged.reuse is Reuse.NO:
        header = _header(facts, block, proxied.target.statement)
        if header is None:
            return ()
        edits.append(header)
    return tuple(edits)


def _set(block: Block, name: str, value: str, behind: Statement | Block) -> Edit:
    """Return the change to an existing directive, or a new one next to the directive that proxies."""
    local = block.local(name)
    if local:
        return Replace(old=local[-1], text=f"{name} {value};")
    return Insert(after=behind, text=f"{name} {value};")


def _header(facts: Facts, block: Block, behind: Statement | Block) -> Edit | None:
    """Return the change with which nginx sends no Connection header.

    A new proxy_set_header must join those in effect: alone in an inner block it would replace all of them.
    """
    in_effect = block.in_effect("proxy_set_header")
    own = [item for item in in_effect if item.value.lower() == "connection"]
    if not in_effect:
        # The blocks around a fragment may set headers.
        added = Insert(after=behind, text='proxy_set_header Connection "";')
        return None if facts.configuration.is_fragment else added
    if not own:
        return Insert(after=in_effect[-1], text='proxy_set_header Connection "";')
    if len(own) > 1:
        return None
    tables = _upgrade_tables(facts)
    written = own[0].args[1].strip("${}").lower() if len(own[0].args) > 1 else ""
    if (table := tables.get(written)) is None:
        return Replace(old=own[0], text=f'proxy_set_header {own[0].value} "";')
    closing = [item for item in table.own if item.name == "" and item.value.lower() == "close"]
    if closing:
        # Upgrades still work, and other connections are no longer closed.
        return Replace(old=closing[0], text="'' '';")
    return None


def _upgrade_tables(facts: Facts) -> Mapping[str, Block]:
    tables = facts.configuration.main.all("map")
    return {table.args[-1].strip("${}").lower(): table for table in tables if len(table.args) > 1}
