"""nginx's error messages about shared memory zones and the paths of caches (ngx_shared_memory_add, ngx_add_path)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.forms import CACHE_PATHS
from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.values import size_bytes

# nginx requires eight memory pages, and two for a cache's keys; no system has pages smaller than 4 KiB.
_LEAST_BYTES: Final = 32 << 10
_LEAST_BYTES_OF_KEYS: Final = 8 << 10
_PATHS: Final = frozenset(CACHE_PATHS.split())
_LIMITS: Final = frozenset({"limit_req_zone", "limit_conn_zone"})
_SMALL: Final = {"ssl_session_cache": "session cache", **dict.fromkeys(_PATHS, "keys zone")}
_DEFINED: Final = re.compile(r"(?:(?:keys_)?zone=|shared:)([^:]+):(\w+)")
_USED: Final = {
    "limit_req": re.compile(r"zone=(.+)"),
    "limit_conn": re.compile(r"([^$]+)"),
    **{path.removesuffix("_path"): re.compile(r"(?!off$)([^$]+)") for path in _PATHS},
}


@dataclass(frozen=True, kw_only=True)
class _Zone:
    said: Statement
    name: str
    size: int | None  # in bytes; None if the directive only uses the zone
    use: tuple[str, str]  # the protocol and the module; no others may use the zone

    @property
    def is_small(self) -> bool:
        least = _LEAST_BYTES_OF_KEYS if self.said.name in _PATHS else _LEAST_BYTES
        return self.size is not None and self.size < least


def zone_problems(main: Block) -> Iterator[Problem]:
    """Yield the first error about each zone, and about each path that two caches share."""
    first: dict[str, _Zone] = {}
    wrong = set()
    for zone in _zones(main):
        known = first.setdefault(zone.name, zone)
        message = _problem(zone, known)
        if known.size is None and zone.size is not None and not message:
            first[zone.name] = zone
        if message and zone.name not in wrong:
            wrong.add(zone.name)
            yield problem_at(zone.said, message)
    paths: dict[str, Statement] = {}
    for said, _ in main.everything():
        if said.name in _PATHS and said.value and is_given(said):
            other = paths.setdefault(said.value, said)
            if other is not said:
                message = f'the same path name "{said.value}" used in {other.file}:{other.line}'
                yield problem_at(said, message)


def _zones(main: Block) -> Iterator[_Zone]:
    for said, block in main.everything():
        protocol = "".join(block.path[:1])
        if protocol not in {"http", "stream", "mail"} or not is_given(said):
            continue
        if said.name == "zone" and block.name == "upstream":
            size = size_bytes(said.args[1]) if len(said.args) > 1 else None
            yield _Zone(said=said, name=said.value, size=size, use=(protocol, "upstream"))
        elif said.name in _PATHS | _LIMITS | {"ssl_session_cache"}:
            module = said.name.removesuffix("_zone").removesuffix("_path")
            found = next((match for arg in said.args if (match := _DEFINED.fullmatch(arg))), None)
            if found is not None and (size := size_bytes(found[2])) is not None:
                yield _Zone(said=said, name=found[1], size=size, use=(protocol, module))
        elif pattern := _USED.get(said.name):
            args = said.args if said.name == "limit_req" else said.args[:1]
            found = next((match for arg in args if (match := pattern.fullmatch(arg))), None)
            if found is not None:
                yield _Zone(said=said, name=found[1], size=None, use=(protocol, said.name))


def _problem(zone: _Zone, known: _Zone) -> str:
    said = zone.said
    if zone.is_small:
        shown = zone.name if said.name == "zone" else next(arg for arg in said.args if _DEFINED.fullmatch(arg))
        return f'{_SMALL.get(said.name, "zone")} "{shown}" is too small'
    if zone.use != known.use:
        return f'the shared memory zone "{zone.name}" is already declared for a different use'
    if None not in {zone.size, known.size} and zone.size != known.size:
        sizes = f"the size {zone.size} of shared memory zone", f"conflicts with already declared size {known.size}"
        return f'{sizes[0]} "{zone.name}" {sizes[1]}'
    if zone is not known and known.said.name == said.name in _LIMITS:
        return f'{said.name} "{zone.name}" is already bound to key "{known.said.value}"'
    if zone is not known and known.said.name == said.name in _PATHS:
        return f'duplicate zone "{zone.name}"'
    return ""
