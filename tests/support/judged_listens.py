"""Compares the model and nginx on ``listen`` directives: the sockets, the servers that answer, and nginx's refusals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from tests.support.compared_model import Compared
from tests.support.generated_listens import HOSTS, Drawn
from tuneproof.conf import hosts, sockets
from tuneproof.conf.listens import Address
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import read_configuration
from tuneproof.messages.patterns import in_glibc_words

_HTTP1_WITH_HTTP2_SINCE: Final = (1, 25, 1)
"""From this version on, a socket with "http2" but without TLS also accepts HTTP/1.1."""
_WARNS_SINCE: Final = (1, 23, 4)
PROXY: Final = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"
ASKED: Final = tuple(product(HOSTS, (("s1", ""), ("other", ""), ("other", PROXY))))
"""The requests to each port of a set: at an address, for a host, with or without the PROXY protocol's line."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The results of starting nginx with a set."""

    status: int  # exit status of the command that starts it
    refusal: str  # the first error that it printed
    redefined: Sequence[int]  # numbers of the lines that redefine protocols, according to its warnings
    bound: frozenset[str]  # the kernel's sockets, such as "tcp 0.0.0.0:80", on the set's ports and its unix socket
    answers: Sequence[Sequence[Any]]  # responses to ASKED at each port, in the order of the ports


def compare(drawn: Drawn, seen: Seen, version: Sequence[int]) -> Compared:
    """Compare one set, and every response if nginx starts with it."""
    main = read_configuration(Dump({"nginx.conf": drawn.text}, is_complete=True)).main
    known = sockets.sockets_of(main, version)
    found = Compared(questions=1)
    if known.unknown:
        found.unknown["the name of a host"] += 1
        return found
    found.constructs["refused"] += bool(seen.status)
    found.constructs.update(_constructs(known))
    wrong = _refusal(known, seen) if known.problems or seen.status else _differences(drawn, known, seen, tuple(version))
    found.disagreements += (f"set {drawn.number}: {each}" for each in wrong)
    return found


def _constructs(known: sockets.Sockets) -> set[str]:
    said = {problem.message.split(" ", 3)[0] for problem in known.problems[:1]}
    found = {f"refused: {word}" for word in said}
    for socket in known.found:
        found.add(socket.address.family + (" datagrams" if socket.address.is_udp else ""))
        found |= {f"listen {protocol}" for protocol in socket.protocols}
        found |= {f"listen {parameter.partition('=')[0]}" for parameter in socket.parameters}
        found |= {"several servers"} if len(socket.servers) > 1 else set()
        found |= {"redefined protocols"} if socket.redefined else set()
        found |= {"covered by all addresses"} if not socket.is_bound else set()
    return found


def _refusal(known: sockets.Sockets, seen: Seen) -> Iterator[str]:
    problem = known.problems[0] if known.problems else None
    # The lab's build of mainline prints musl's error texts.
    refusal = in_glibc_words(seen.refusal)
    if problem is None or not seen.status or problem.message not in refusal:
        yield f"{problem}, nginx: {seen.status} {refusal}"
    elif "bind()" not in refusal and not refusal.endswith(f":{problem.line}"):
        yield f"line {problem.line}, nginx: {refusal}"


def _differences(drawn: Drawn, known: sockets.Sockets, seen: Seen, version: tuple[int, ...]) -> Iterator[str]:
    mine = {_kernel_name(socket.address) for socket in known.found if socket.is_bound}
    if mine != seen.bound:
        yield f"{sorted(mine)}, kernel: {sorted(seen.bound)}"
    redefined = sorted(place.line for socket in known.found for place in socket.redefined)
    if version >= _WARNS_SINCE and redefined != seen.redefined:
        yield f"redefined in lines {redefined}, nginx: {seen.redefined}"
    expected = [(port, *question, known.at(question[0], port)) for port in drawn.ports for question in ASKED]
    for (port, address, (host, proxy), socket), (status, headers, _) in zip(expected, seen.answers, strict=True):
        if socket is not None and _is_http2_alone(socket, version):
            continue
        theirs = (status, dict(map(tuple, headers)).get("X-Server"))
        if (answer := _answer(socket, host, is_proxied=bool(proxy))) != theirs:
            yield f"{host} at {address}:{port} {bool(proxy)}: {answer}, nginx: {theirs}"


def _kernel_name(address: Address) -> str:
    kind = "unix" if address.family == "unix" else "udp" if address.is_udp else "tcp"
    return f"{kind} {address.name.removeprefix('unix:')}"


def _is_http2_alone(socket: sockets.Socket, version: tuple[int, ...]) -> bool:
    is_plain = "http2" in socket.protocols and "ssl" not in socket.protocols
    return is_plain and version < _HTTP1_WITH_HTTP2_SINCE


def _answer(socket: sockets.Socket | None, host: str, *, is_proxied: bool) -> tuple[int, str | None]:
    """Return the status of the response and the server that sent it; (0, None) without a response."""
    expects_proxy = socket is not None and "proxy_protocol" in socket.protocols
    if socket is None or (expects_proxy and not is_proxied):
        return 0, None
    if is_proxied and not expects_proxy:
        return 400, _label(socket.default)
    return 400 if "ssl" in socket.protocols else 200, _label(hosts.server_for(socket, host).server)


def _label(server: Any) -> str:
    return str(server.local("add_header")[0].args[1])


def bound_by_set(lines: Sequence[str], drawn: Sequence[Drawn]) -> Mapping[int, frozenset[str]]:
    """Return the sockets of each set, from the lines of "ss -Hltn", "ss -Hlun" and "ss -Hlx"."""
    found: dict[int, set[str]] = {one.number: set() for one in drawn}
    by_port = {port: one.number for one in drawn for port in one.ports}
    for line in lines:
        state, _, _, local, *more = line.split()
        if state in {"LISTEN", "UNCONN"}:
            address, _, port = local.rpartition(":")
            if port.isdecimal() and (number := by_port.get(int(port))) is not None:
                kind = "tcp" if state == "LISTEN" else "udp"
                found[number].add(f"{kind} {'[::]' if address == '*' else address}:{port}")
        elif more and (path := more[0]).startswith("/tmp/listens/"):  # noqa: S108 - in the generated files
            found[int(path.rpartition("/")[2].partition(".")[0])].add(f"unix {path}")
    return {number: frozenset(each) for number, each in found.items()}
