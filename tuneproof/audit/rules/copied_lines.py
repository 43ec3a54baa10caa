"""Lines that travel from one nginx.conf to the next: which of them help, which do nothing, and which do harm.

What is said of each, and when, stands in its row (:mod:`tuneproof.lines`); here is what a row can ask of a
configuration.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts
from tuneproof.audit.patches import Before, Edit, Insert, Replace
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.upstreams import Target
from tuneproof.audit.values import size_bytes, time_ms, whole_number
from tuneproof.lines import Concern, Line, every_line
from tuneproof.wording import as_numbers

NAME: Final = "copied_lines"
RANK: Final = 8

_ADDRESS: Final = re.compile(r"unix:|\[|(?:\d+\.){3}\d+(?::|$)")
# https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
_NEVER_EJECTED: Final = "max_fails=0"
_EVENT_STREAM: Final = "text/event-stream"
# Of locations and backends: server-sent events, chats, and the servers of language models.
_STREAMS: Final = re.compile(
    r"(?<![a-z])(?:events?|sse|streams?|streaming|subscribe|chat|completions|ollama|vllm|litellm|llama)(?![a-z])"
)
_COMPARED: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield what the rows say of each directive and of each block, in the order of the files."""
    rows = [(line, concern) for line in every_line() for concern in line.audit if _is_of_version(line, concern, facts)]
    main = facts.configuration.main
    said_before: set[tuple[str, ...]] = set()
    for said, block in main.everything():
        for line, concern in rows:
            if concern.directive != said.name or not _is_written(said, concern):
                continue
            # What only hints at something does so once, wherever the same stands again.
            key = (line.claim, *said.args) if concern.state == State.CANNOT_TELL else (line.claim, str(id(said)))
            if key not in said_before and _is_meant(concern, said, block, facts):
                said_before.add(key)
                yield _advised(line, concern, said)
    for line, concern in rows:
        for at in _blocks(concern.block, main):
            if _is_meant(concern, at, main if concern.block == "main" else at, facts):
                yield _advised(line, concern, at)


def _blocks(name: str, main: Block) -> Iterator[Block]:
    """Yield the blocks in which something may be missing: not where a file that is not here may say it.

    For "main" the first block in it, in front of which there is room.
    """
    found = main.blocks[:1] if name == "main" else main.all(name)
    for block in found:
        if block.span is not None and not any(level.unseen for level in block.within()):
            yield block


def _advised(line: Line, concern: Concern, at: Statement | Block) -> Advised:
    why, text = concern.why.format(version=line.version), concern.patch
    edits: list[Edit] = []
    if isinstance(at, Statement):
        why = f"{at.name} {' '.join(at.args)}: {why}{_reach(at, concern)}"
    if text is not None:
        edits = [_edit(concern, at, text)]
    return Advised(name=line.scenario, claim=line.claim, state=State(concern.state), at=at, why=why, edits=edits)


def _edit(concern: Concern, at: Statement | Block, text: str) -> Edit:
    if isinstance(at, Statement):
        return Replace(old=at, text=text)
    text = text.replace("{arg}", at.args[0] if at.args else "")
    return Before(block=at, lines=(text,)) if concern.block == "main" else Insert(after=at, text=text)


def _is_of_version(line: Line, concern: Concern, facts: Facts) -> bool:
    return concern.state != State.EXPIRED or facts.version_numbers >= as_numbers(line.version)


def _is_written(said: Statement, concern: Concern) -> bool:
    """Tell whether a directive has the arguments that a row is about."""
    if not re.fullmatch(concern.args, " ".join(said.args), re.DOTALL):
        return False
    if not concern.value:
        return True
    if concern.place >= len(said.args):
        return False
    bounds = [bound.split() for bound in concern.value.split(",")]
    texts = [said.args[concern.place], *(limit for _, limit in bounds)]
    numbers = _numbers(texts)
    return bool(numbers) and all(
        _COMPARED[sign](numbers[0], limit) for (sign, _), limit in zip(bounds, numbers[1:], strict=True)
    )


def _numbers(texts: list[str]) -> list[int]:
    """Return sizes in bytes, or times in milliseconds, whichever all of them are; none where they are neither."""
    for read in (size_bytes, time_ms):
        numbers = [number for text in texts if (number := read(text)) is not None]
        if len(numbers) == len(texts):
            return numbers
    return []


def _reach(said: Statement, concern: Concern) -> str:
    """Return how far the measurement reaches, in words; the empty string where it was of this very value."""
    if not concern.measured:
        return ""
    yours = said.args[concern.place]
    is_that = len({*_numbers([yours, concern.measured])} or {yours, concern.measured}) == 1
    return "" if is_that else f" (measured at {concern.measured}; yours is {yours})"


def _is_meant(concern: Concern, at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether all that a row asks of what is around a directive, or in a block, is so."""
    if block.path[:1] == ("stream",):
        return False
    wanted, unwanted = concern.where, concern.unless
    return (not wanted or _is_so(wanted, at, block, facts)) and not (unwanted and _is_so(unwanted, at, block, facts))


def _is_so(name: str, at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether something is so by its name; or whether a setting is in effect in a block, or in one inside."""
    if name in WHERE:
        return WHERE[name](at, block, facts)
    directive = name.partition(" ")[0]
    # An upstream block inherits nothing: keepalive_timeout around it is about clients.
    said = block.local(directive) if block.name == "upstream" else block.in_effect(directive)
    return any(_matches(name, one) for one in (*said[-1:], *(inner for inner, _ in block.everything())))


def _matches(setting: str, said: Statement) -> bool:
    return re.fullmatch(setting, " ".join([said.name, *said.args]), re.DOTALL) is not None


def _is_tls_only(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    servers = block.servers()
    return bool(servers) and all(server.listens_with("ssl") for server in servers)


def _speaks_http2(_at: Statement | Block, block: Block, _facts: Facts) -> bool:
    return any(server.is_on("http2") or server.listens_with("http2") for server in block.servers())


def _lacks_descriptors(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    limit = whole_number(at.args[0])
    return limit is not None and facts.worker_connections is not None and limit < 2 * facts.worker_connections


def _has_peers(at: Statement | Block, _block: Block, facts: Facts) -> bool:
    """Tell whether a failure may eject one of several peers: one that is alone is always asked.

    One with a backup is not alone, and both are ejected (ngx_http_upstream_init_round_robin).
    """
    targets = [proxied.target for proxied in facts.proxied]
    meant = [target for target in targets if target.block.setting(at.name) is at]
    return not meant or any(_may_have_peers(target, facts) for target in meant)


def _may_have_peers(target: Target, facts: Facts) -> bool:
    for name in target.names() or {""}:
        servers = _servers(facts.upstreams[name].block) if name in facts.upstreams else []
        if any(_NEVER_EJECTED in server.args for server in servers):
            continue
        addresses = [server.value for server in servers] or [name]
        # A name may have several addresses: "localhost" has two.
        if len(addresses) > 1 or not _ADDRESS.match(addresses[0]):
            return True
    return False


def _keeps_connections(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    upstream = facts.upstreams.get(block.args[0].lower()) if block.args else None
    return upstream is not None and upstream.keepalive > 0


def _is_looked_up_once(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether a server's, or an address's, name is looked up when nginx starts, and never again."""
    if isinstance(at, Block):
        return any(_is_name(server.value) and "resolve" not in server.args for server in _servers(block))
    target = next((proxied.target for proxied in facts.proxied if proxied.target.statement is at), None)
    if target is None or "$" in target.to:
        return False
    is_elsewhere = not facts.configuration.is_whole and re.fullmatch(r"[\w-]+", target.host)
    return target.host.lower() not in facts.upstreams and _is_name(target.host) and not is_elsewhere


def _is_name(address: str) -> bool:
    return not _ADDRESS.match(address) and address.partition(":")[0] != "localhost"


def _streams(_at: Statement | Block, block: Block, facts: Facts) -> bool:
    return _is_buffered(block, facts) and any(_EVENT_STREAM in said.args for said in block.own)


def _may_stream(at: Statement | Block, block: Block, facts: Facts) -> bool:
    """Tell whether a location, or who it passes requests on to, is named like what streams."""
    names = [*block.args, *(proxied.target.to for proxied in facts.proxied if proxied.target.block is block)]
    return _is_buffered(block, facts) and not _streams(at, block, facts) and bool(_STREAMS.search(" ".join(names)))


def _is_buffered(block: Block, facts: Facts) -> bool:
    return any(proxied.is_buffered for proxied in facts.proxied if proxied.target.block is block)


def _servers(upstream: Block) -> list[Statement]:
    return [server for server in upstream.local("server") if "down" not in server.args]


WHERE: Final[Mapping[str, Callable[[Statement | Block, Block, Facts], bool]]] = {
    "TLS only": _is_tls_only,  # all servers that a directive of the block is for speak it
    "HTTP/2": _speaks_http2,  # one of them does
    "fewer descriptors than twice worker_connections": _lacks_descriptors,
    "peers that may be ejected": _has_peers,
    "keeps connections": _keeps_connections,  # an upstream block does, also by default
    "looked up once": _is_looked_up_once,
    "streams": _streams,  # a location that passes requests on, buffered, and names text/event-stream
    "may stream": _may_stream,
    "several servers and workers": lambda _at, block, facts: len(_servers(block)) > 1 and facts.workers != 1,
}
"""What a row can ask by name; anything else is a setting in effect, such as "sendfile on"."""
