"""Chooses the nginx version for a configuration if none is given, and finds what a version lacks."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tuneproof.conf.directives import known, rows_of
from tuneproof.conf.modules import used_modules
from tuneproof.conf.statements import TABLES, Statement
from tuneproof.conf.tree import Block, Configuration
from tuneproof.conf.variables import definitions, variables
from tuneproof.nginx_changes import LAB_VERSIONS, STABLE_VERSIONS, VARIABLES, Change, Kind, of_directive
from tuneproof.nginx_modules import module_of
from tuneproof.wording import as_numbers

# https://nginx.org/en/docs/switches.html: -V prints the version and the configure arguments.
_VERSION: Final = re.compile(r"^nginx version: nginx/([\d.]+)", re.MULTILINE)
_CONF_PATH: Final = re.compile(r"--conf-path=(\S+)")
_WAIT_S: Final = 2.0
# https://nginx.org/en/CHANGES, 1.27.2: ssl_trusted_certificate is enough.
_VERIFIED_ALONE: Final = Change(
    version="1.27.2", kind=Kind.NEW, directive="ssl_verify_client", parameter="without ssl_client_certificate"
)
# https://nginx.org/en/CHANGES, 1.23.0: "now nginx combines arbitrary header lines with identical names".
_JOINED: Final = Change(
    version="1.23.0",
    kind=Kind.BEHAVIOUR,
    directive="$http_...",
    meaning="if {who} sends this header in several lines, the variable has the values of all, with commas; before, "
    "only that of the first",
)
_DECIDING: Final = frozenset({"map", "if"})
_PASSING_ON: Final = frozenset({"add_header", "auth_request_set", "map"})
# nginx rejects two lines of Host, joined those of Cookie and X-Forwarded-For before 1.23.0, and gets only one line
# of the others from clients.
_AS_BEFORE: Final = frozenset(
    f"http_{name}" for name in ("host", "cookie", "x_forwarded_for", "user_agent", "referer", "upgrade")
)
# https://nginx.org/en/CHANGES, 1.27.3: "an IPv6 address in square brackets and no port can be specified".
_BOUND_SINCE: Final = "1.27.3"
_BINDING: Final = frozenset(f"{kind}_bind" for kind in ("proxy", "fastcgi", "grpc", "memcached", "scgi", "uwsgi"))
_BEGINNINGS: Final = tuple(name for name in VARIABLES if name.endswith("_"))
_OF_PERL: Final = frozenset({"perl", "perl_set"})
# Directives of upstream blocks that nginx Plus had first; of "server", only parameters.
_FIRST_IN_PLUS: Final = frozenset({"least_time", "resolver", "resolver_timeout", "server", "sticky"})


@dataclass(frozen=True, kw_only=True)
class Concern:
    """A change in nginx, with the directive that it affects."""

    change: Change
    said: Statement | Block
    block: Block

    @property
    def what(self) -> str:
        """The affected directive, and the parameter or condition, in words."""
        if self.change.parameter == "$":
            return f"{self.said.name} with a variable"
        return f"{self.said.name} {self.change.parameter}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Need:
    """A directive, parameter or variable that older versions lack."""

    what: str  # the directive, parameter or variable, in words
    since: str  # the version that added it, or the first with a package of its module
    said: Statement | Block


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The oldest lab version that supports a configuration, and what an older one lacks."""

    version: str
    because: Need | None = None  # None if the lab's oldest version is enough

    @property
    def versions(self) -> tuple[str, ...]:
        """The chosen version and newer stable ones; mainline only if no stable version is enough."""
        return tuple(one for one in STABLE_VERSIONS if as_numbers(one) >= as_numbers(self.version)) or (self.version,)


def installed_version(named: str) -> str:
    """Return the version of the nginx that uses a configuration on this machine; empty if none does.

    ``named``: the nginx.conf, or its folder.
    """
    nginx = shutil.which("nginx")
    if nginx is None or not Path(named).exists():
        return ""
    try:
        said = subprocess.run([nginx, "-V"], capture_output=True, text=True, timeout=_WAIT_S, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version, conf = _VERSION.search(said), _CONF_PATH.search(said)
    if version is None or conf is None:
        return ""
    path, used = Path(named).resolve(), Path(conf[1]).resolve()
    return version[1] if path in {used, used.parent} else ""


def lab_version(version: str) -> str:
    """Return the lab's version for an installed one, such as 1.22 for 1.22.1; empty if there is none."""
    return next((one for one in LAB_VERSIONS if version.split(".")[:2] == one.split(".")), "")


def concerns(configuration: Configuration) -> Iterator[Concern]:
    """Yield each directive of a configuration that some version lacks or treats differently, with the change."""
    yield from _new_variables(configuration.main)
    yield from _verified_alone(configuration)
    yield from _joined(configuration.main)
    for said, block in configuration.main.everything():
        if TABLES & set(block.path) and (block.name, said.name, said.args) != ("geo", "volatile", ()):
            continue
        if said.name in _BINDING and said.value.startswith("[") and said.value.endswith("]"):
            change = Change(
                version=_BOUND_SINCE,
                kind=Kind.NEW,
                directive=said.name,
                parameter="with an IPv6 address in brackets without a port",
            )
            yield Concern(change=change, said=said, block=block)
        for change in of_directive(said.name):
            is_meant = change.kind is not Kind.DEFAULT and is_in(change.block, block) and change.concerns(said.args)
            if is_meant and (not change.behind or _is_behind(change.behind, said, block)):
                yield Concern(change=change, said=said, block=block)


def _new_variables(main: Block) -> Iterator[Concern]:
    """Yield the uses of variables that older versions lack, and that no directive here defines."""
    everything: list[tuple[Statement | Block, Block]] = list(main.everything())
    everything += [(block, block.parent or main) for block in main.below()]
    own = {name for _, name in definitions(main)}
    for said, block in everything:
        used = {name for arg in said.args for name in variables(arg)} if said.name not in _OF_PERL else set()
        for name in sorted(used - own):
            since = VARIABLES.get(name) or next((VARIABLES[one] for one in _BEGINNINGS if name.startswith(one)), None)
            if since is not None:
                change = Change(version=since, kind=Kind.NEW, directive=said.name, parameter=f"${name}")
                yield Concern(change=change, said=said, block=block)


def _joined(main: Block) -> Iterator[Concern]:
    """Yield the uses of headers that may have several lines: a client's in a map or condition, an upstream's."""
    everything: list[tuple[Statement | Block, Block]] = [(block, block.parent or main) for block in main.below()]
    for said, block in (*everything, *main.everything()):
        used = {name for arg in said.args for name in variables(arg)} - _AS_BEFORE
        for name in sorted(used):
            who = "a client" if name.startswith("http_") and said.name in _DECIDING else ""
            who = "the upstream" if name.startswith("upstream_http_") and said.name in _PASSING_ON else who
            if who:
                change = replace(_JOINED, directive=f"${name}", meaning=_JOINED.meaning.format(who=who))
                yield Concern(change=change, said=said, block=block)


def _verified_alone(configuration: Configuration) -> Iterator[Concern]:
    """Yield each ``ssl_verify_client`` with only ssl_trusted_certificate, which older versions refuse."""
    everything = list(configuration.main.everything())
    names = {said.name for said, _ in everything}
    if not configuration.is_whole or "ssl_client_certificate" in names or "ssl_trusted_certificate" not in names:
        return
    for said, block in everything:
        if said.name == "ssl_verify_client" and said.value in {"on", "optional"}:
            yield Concern(change=_VERIFIED_ALONE, said=said, block=block)


def choose_version(configuration: Configuration) -> Choice:
    """Return the oldest lab version that has every directive and parameter here; the newest if none does.

    Modules matter only if they are packaged for some version. For nginx Plus, additions that it had first are ignored.
    """
    is_plus = _is_for_plus(configuration.main)
    needs = [
        *(
            Need(what=concern.what, since=concern.change.version, said=concern.said)
            for concern in concerns(configuration)
            if concern.change.kind is Kind.NEW and not (is_plus and _was_in_plus(concern))
        ),
        *(Need(what=used.what, since=used.module.since, said=used.said) for used in used_modules(configuration)),
    ]
    newest = max(needs, key=lambda need: as_numbers(need.since), default=None)
    for version in LAB_VERSIONS:
        if newest is None or as_numbers(newest.since) <= as_numbers(version):
            return Choice(version=version, because=newest if version != LAB_VERSIONS[0] else None)
    return Choice(version=LAB_VERSIONS[-1], because=newest)


def _is_for_plus(main: Block) -> bool:
    """Tell whether a configuration has directives that nginx documents, but neither its sources nor a package have."""
    return any(
        said.name in known()
        and not rows_of(said.name)
        and module_of(said.name, in_stream="stream" in block.path) is None
        for said, block in main.everything()
        if not TABLES & set(block.path)
    )


def _was_in_plus(concern: Concern) -> bool:
    return concern.block.name == "upstream" and concern.change.directive in _FIRST_IN_PLUS


def is_in(name: str, block: Block) -> bool:
    """Tell whether a change in a kind of block affects a directive of this block."""
    return not name or name == block.name or block.path[:1] == (name,)


def _is_behind(name: str, said: Statement, block: Block) -> bool:
    return any(one.name == name for one in block.own[: block.own.index(said)])
