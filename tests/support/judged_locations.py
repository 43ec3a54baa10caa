"""The location that answers a request, and its status: by the model, and as nginx answered."""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.compared_model import Compared
from tests.support.generated_locations import MERGING_PORT, Drawn, Request
from tuneproof.conf import answers
from tuneproof.conf.locations import Location
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Block, read_configuration


def compare(drawn: Drawn, seen: Sequence[Sequence[Any]], version: Sequence[int]) -> Compared:
    """Compare all answers of nginx: status, header lines and body of each request."""
    main = read_configuration(Dump({"nginx.conf": drawn.text}, is_complete=True)).main
    servers = [server for server in main.all("server") if server.local("server_name")]
    found = Compared()
    for request, (status, headers, _) in zip(drawn.requests, seen, strict=True):
        server = servers[request.server]
        merges = request.port == MERGING_PORT
        mine = answers.answer(request.target, server, version, merges_slashes=merges)
        found.questions += 1
        found.constructs.update(set(_constructs(request, mine, merges=merges)))
        if mine.doubt:
            found.unknown[mine.doubt.partition(" has ")[2] or mine.doubt] += 1
            continue
        # A request line that nginx refuses is not of this server yet.
        label = None if mine.status == 400 else _label(mine.block)
        theirs = dict(map(tuple, headers)).get("X-Location")
        if label != theirs or mine.status not in {None, status}:
            found.disagreements.append(f"{request}: {label} {mine.status}, nginx: {theirs} {status}")
    return found


def _label(block: Block) -> str:
    return block.local("add_header")[0].args[1]


def _constructs(request: Request, mine: answers.Answer, *, merges: bool) -> Iterator[str]:
    if not merges:
        yield "merge_slashes off"
    if any(part in request.target for part in ("//", "/.", "%")):
        yield "a path that is normalised"
    if mine.status == 400:
        yield "a path that is refused"
    if mine.doubt:
        yield "unknown: if" if mine.doubt.startswith("if ") else "unknown: regular expression"
    for number, block in enumerate(mine.blocks):
        if block.name == "server":
            yield "no location"
            continue
        location = Location.of(block)
        yield f"location {location.kind.value or 'prefix'}"
        if block.parent is not None and block.parent.name == "location":
            yield "nested location"
        if number and location.kind.value != "@":
            yield "redirected to a path"
        if any(inner.name == "if" for inner in block.blocks):
            yield "location with if"
        for name in ("try_files", "internal"):
            if block.local(name):
                yield name
    last = mine.block
    if mine.status == 301 and not last.local("return"):
        yield "redirect to a slash"
    if len(mine.blocks) > 1 and any(block.local("return") for block in mine.blocks[:-1]):
        yield "error_page"
    if len(mine.blocks) > 3:
        yield "several redirects"
