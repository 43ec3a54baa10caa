"""Compares the model and nginx on the location that answers a request, and on the status."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.compared_model import Compared
from tests.support.generated_locations import MERGING_PORT, Drawn, Request
from tuneproof.conf import answers
from tuneproof.conf.locations import Kind, Location
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Block, read_configuration
from tuneproof.conf.unreachable import unreachable_in


def compare(drawn: Drawn, seen: Sequence[Sequence[Any]], version: Sequence[int]) -> Compared:
    """Compare the answers to each request (seen: nginx's status, header lines and body)."""
    main = read_configuration(Dump({"nginx.conf": drawn.text}, is_complete=True)).main
    servers = [server for server in main.all("server") if server.local("server_name")]
    lost = {_label(one.block) for server in servers for one in unreachable_in(server)}
    found = Compared(constructs=Counter({"unreachable location": len(lost)}))
    for request, (status, headers, _) in zip(drawn.requests, seen, strict=True):
        server = servers[request.server]
        merges = request.port == MERGING_PORT
        mine = answers.answer(request.target, server, version, merges_slashes=merges)
        found.questions += 1
        found.constructs.update(set(_constructs(request, mine, merges=merges)))
        if mine.doubt:
            found.unknown[mine.doubt.partition(" has ")[2] or mine.doubt] += 1
            continue
        # nginx refuses an invalid request line before it chooses a server.
        label = None if mine.status == 400 else _label(mine.block)
        theirs = dict(map(tuple, headers)).get("X-Location")
        # nginx must never answer from a location that the model finds unreachable, not even after internal redirects.
        if label != theirs or mine.status not in {None, status} or theirs in lost:
            found.disagreements.append(f"{request}: {label} {mine.status}, nginx: {theirs} {status}")
    return found


def _label(block: Block) -> str:
    return block.local("add_header")[0].args[1]


def _constructs(request: Request, mine: answers.Answer, *, merges: bool) -> Iterator[str]:
    """Yield the constructs that a request tests."""
    last, *others = reversed(mine.blocks)
    is_returned = bool(last.local("return"))
    facts = {
        "merge_slashes off": not merges,
        "a path that is normalised": any(part in request.target for part in ("//", "/.", "%")),
        "a path that is refused": mine.status == 400,
        "unknown: if": mine.doubt.startswith("if "),
        "unknown: regular expression": mine.doubt.endswith("understood here"),
        "redirect to a slash": mine.status == 301 and not is_returned,
        "no file": mine.status == 404 and not mine.is_served and not is_returned,
        "error_page": any(block.local("return") for block in others),
        "several redirects": len(others) > 2,
    }
    yield from (name for name, is_so in facts.items() if is_so)
    for number, block in enumerate(mine.blocks):
        yield from _about(block, is_first=not number)


def _about(block: Block, *, is_first: bool) -> Iterator[str]:
    if block.name == "server":
        yield "no location"
        return
    kind = Location.of(block).kind
    yield f"location {kind.value or 'prefix'}"
    facts = {
        "nested location": block.parent is not None and block.parent.name == "location",
        "redirected to a path": not is_first and kind is not Kind.NAMED,
        "location with if": any(inner.name == "if" for inner in block.blocks),
        "try_files": bool(block.local("try_files")),
        "internal": bool(block.local("internal")),
    }
    yield from (name for name, is_so in facts.items() if is_so)
