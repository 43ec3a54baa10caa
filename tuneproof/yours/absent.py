"""Definitions that a part of a configuration uses but lacks; they are added to http{} so that nginx starts."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.variables import variables
from tuneproof.yours.needs import CERTIFICATE, KEY, Needs
from tuneproof.yours.peers import ENGINES_RESOLVER

_CACHES: Final = "/var/cache/nginx"
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
_ZONE: Final = re.compile(r"(?:keys_)?zone=([\w.-]+)")
# In these modules' directives, addresses need a port, so a name without one is an upstream block.
_WITHOUT_PORTS: Final = frozenset({"fastcgi", "uwsgi", "scgi", "memcached"})
_CACHING: Final = ("proxy", "fastcgi", "uwsgi", "scgi")
_BUILT_IN: Final = "combined"
# The zone's real rate is unknown, and a made-up one must not affect the measurement.
_UNLIMITED: Final = "1000000r/s"


@dataclass(frozen=True, kw_only=True)
class Absent:
    """The definitions that are added to http{}."""

    lines: tuple[str, ...] = ()  # directives for http{}
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Files to create: the name of each one's material, by path."""

    def added_to(self, needs: Needs) -> Needs:
        """Return what nginx needs in order to start with these additions."""
        folders = (_CACHES,) if any(_CACHES in line for line in self.lines) else ()
        return replace(needs, folders=(*needs.folders, *folders), made={**needs.made, **self.files})

    @property
    def notes(self) -> tuple[str, ...]:
        """The additions in words."""
        return tuple(f"{line}  # your files use it, but do not define it" for line in self.lines)


def absent_of(facts: Facts, *, folder: str) -> Absent:
    """Return the definitions that a part of a configuration lacks; empty for a complete one."""
    if not facts.configuration.is_fragment:
        return Absent()
    said = [statement for statement, _ in facts.configuration.main.everything()]
    lines = [*_formats(said), *_zones(said), *_caches(said), *_upstreams(facts)]
    if any(variables(proxied.target.host) for proxied in facts.proxied) and not _named(said, "resolver"):
        lines.append(f"resolver {ENGINES_RESOLVER};")
    files = {}
    servers = facts.configuration.main.all("server")
    if any(block.listens_with("ssl") and block.setting("ssl_certificate") is None for block in servers):
        certificate, key = (posixpath.join(folder, name) for name in (CERTIFICATE, KEY))
        files = {certificate: CERTIFICATE, key: KEY}
        lines += [f"ssl_certificate {certificate};", f"ssl_certificate_key {key};"]
    return Absent(lines=tuple(dict.fromkeys(lines)), files=files)


def _named(said: Sequence[Statement], name: str) -> list[Statement]:
    return [one for one in said if one.name == name and one.args]


def _formats(said: Sequence[Statement]) -> Iterator[str]:
    known = {_BUILT_IN, *(one.value for one in _named(said, "log_format"))}
    for one in _named(said, "access_log"):
        # Parameters such as buffer=32k, gzip and if= follow the format.
        if one.args[1:] and _NAME.fullmatch(one.args[1]) and one.args[1] not in {*known, "gzip"}:
            yield f'log_format {one.args[1]} "$remote_addr $request $status";'


def _zones(said: Sequence[Statement]) -> Iterator[str]:
    for name, rate in (("limit_req", f" rate={_UNLIMITED}"), ("limit_conn", "")):
        known = _zones_in(_named(said, f"{name}_zone"))
        used = _zones_in(_named(said, name)) if rate else {one.value for one in _named(said, name)}
        for zone in sorted(used - known):
            yield f"{name}_zone $binary_remote_addr zone={zone}:1m{rate};"


def _zones_in(said: Sequence[Statement]) -> set[str]:
    return {match[1] for one in said for arg in one.args if (match := _ZONE.match(arg))}


def _caches(said: Sequence[Statement]) -> Iterator[str]:
    for kind in _CACHING:
        known = _zones_in(_named(said, f"{kind}_cache_path"))
        for one in _named(said, f"{kind}_cache"):
            if _NAME.fullmatch(one.value) and one.value not in {*known, "off"}:
                yield f"{kind}_cache_path {_CACHES}/{kind}_{one.value} keys_zone={one.value}:1m;"


def _upstreams(facts: Facts) -> Iterator[str]:
    for proxied in facts.proxied:
        if proxied.target.kind in _WITHOUT_PORTS:
            for name in sorted(proxied.target.names() or ()):
                if _NAME.fullmatch(name) and name not in facts.upstreams:
                    yield f"upstream {name} {{ server {name}; }}"
