"""Finds both legs of requests if nginx replaces the beginning of their path.

``proxy_pass http://app/v1/;`` in ``location /api/`` turns /api/users/5 into /v1/users/5. A request's
candidates are the requests with the same end that nginx sent meanwhile. A rule, such as "/api" to "/v1", must match the
whole target of at least 20 requests, and of 90 % of those under /api with a candidate. Other targets have no match.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from tuneproof.explain.parse.capture.connection import Answered
from tuneproof.explain.parse.capture.http1 import MAX_REQUEST

# A rule must explain at least this many requests, like any other finding about requests.
ENOUGH: Final = 20
NEARLY_ALL: Final = 0.9
# The maximum number of requests with the same end to compare with one front.
_LOOKED_AT: Final = 64
# The maximum number of rules to try, the one that fits most requests first.
_MOST_RULES: Final = 50
_SHARED: Final = 0.1
_ADDRESS: Final = slice(None, -2)


@dataclass(frozen=True, kw_only=True)
class _Target:
    method: str
    parts: tuple[str, ...]  # of the path, between its slashes; the last one with the query

    @property
    def end(self) -> tuple[str, str]:
        return self.method, self.parts[-1]

    def replaced(self, rule: "_Rule") -> "_Target | None":
        """Return the target that a rule turns this one into; None if the rule is about other paths."""
        size = len(rule.front)
        if self.parts[:size] != rule.front or len(self.parts) == size:
            return None
        return _Target(method=self.method, parts=rule.back + self.parts[size:])


@dataclass(frozen=True, kw_only=True)
class _Rule:
    server: bytes  # nginx's address and port
    front: tuple[str, ...]  # the path's beginning, as clients request it
    back: tuple[str, ...]  # what nginx replaces it with


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """A rule, and the requests that it matches."""

    pairs: list[tuple[Answered, Answered]]
    legs: frozenset[int]  # the identities of both legs of all pairs

    def has_rival(self, other: "_Claim") -> bool:
        """Tell whether another rule explains the same requests about as well, so that neither is certain.

        Simultaneous requests with equal ends also support narrower rules, but only for some of the requests.
        """
        return len(self.legs & other.legs) > _SHARED * len(other.legs) and len(other.pairs) > len(self.pairs) / 2


def rewritten_pairs(fronts: Iterable[Answered], backs: Iterable[Answered]) -> Iterator[tuple[Answered, Answered]]:
    """Yield the requests of clients to nginx, each with the request that nginx sent for it.

    ``fronts``, ``backs``: requests without a match, in the order of the capture.
    """
    open_fronts = [(front, target) for front in fronts if (target := _target(front)) is not None]
    by_end: dict[tuple[bytes, tuple[str, str]], list[tuple[Answered, _Target]]] = defaultdict(list)
    for back in sorted(backs, key=attrgetter("request_start_ns")):
        target = _target(back)
        if target is not None:
            by_end[back.client[_ADDRESS], target.end].append((back, target))
    possible = {id(front): _possible(front, target, by_end) for front, target in open_fronts}
    votes = Counter(
        rule for front, target in open_fronts for rule in {_rule(front, target, to) for _, to in possible[id(front)]}
    )
    claims = []
    for rule, number in votes.most_common(_MOST_RULES):
        pairs, tried = _pairs(rule, open_fronts, possible) if number >= ENOUGH else ([], 0)
        if len(pairs) >= max(ENOUGH, NEARLY_ALL * tried):
            claims.append(_Claim(pairs=pairs, legs=frozenset(id(leg) for pair in pairs for leg in pair)))
    for claim in claims:
        if not any(claim.has_rival(other) for other in claims if other is not claim):
            yield from claim.pairs


def _pairs(
    rule: _Rule,
    fronts: Iterable[tuple[Answered, _Target]],
    possible: Mapping[int, Iterable[tuple[Answered, _Target]]],
) -> tuple[list[tuple[Answered, Answered]], int]:
    """Return the pairs that a rule matches, and how many requests it should match."""
    pairs: list[tuple[Answered, Answered]] = []
    taken: set[int] = set()
    tried = 0
    for front, target in fronts:
        wanted = target.replaced(rule) if front.server == rule.server else None
        if wanted is None or not possible[id(front)]:
            continue
        tried += 1
        back = next((back for back, to in possible[id(front)] if to == wanted and id(back) not in taken), None)
        if back is not None:
            taken.add(id(back))
            pairs.append((front, back))
    return pairs, tried


def _possible(
    front: Answered, target: _Target, by_end: Mapping[tuple[bytes, tuple[str, str]], list[tuple[Answered, _Target]]]
) -> list[tuple[Answered, _Target]]:
    """Return up to 64 requests with the same end that nginx sent, and got answered, before it answered this one."""
    same = by_end.get((front.server[_ADDRESS], target.end), [])
    from_ = bisect_left(same, front.request_start_ns, key=_start_ns)
    return [
        (back, to)
        for back, to in same[from_ : from_ + _LOOKED_AT]
        if back.first_byte_ns <= front.first_byte_ns and back.server != front.server
    ]


def _start_ns(pair: tuple[Answered, _Target]) -> int:
    return pair[0].request_start_ns


def _rule(front: Answered, target: _Target, to: _Target) -> _Rule:
    same = 1
    while same < min(len(target.parts), len(to.parts)) and target.parts[-1 - same] == to.parts[-1 - same]:
        same += 1
    return _Rule(server=front.server, front=target.parts[:-same], back=to.parts[:-same])


def _target(answered: Answered) -> _Target | None:
    """Return a request's target; None if it is truncated or has no end to compare."""
    method, _, target = answered.request.partition(" ")
    path, mark, query = target.partition("?")
    bare = path.rstrip("/")
    *parts, last = bare.split("/")
    if not last or not path.startswith("/") or len(answered.request) >= MAX_REQUEST:
        return None
    return _Target(method=method, parts=(*parts[1:], last + path[len(bare) :] + mark + query))
