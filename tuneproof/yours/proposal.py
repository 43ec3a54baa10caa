"""Builds the scenario that measures the gain from advice on a configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from tuneproof.audit.advice import Advised
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.conditions import connections_bytes
from tuneproof.audit.patches import Edit, apply, diff, place_of, setting
from tuneproof.audit.version_choice import Choice, concerns
from tuneproof.conf.directives import directive
from tuneproof.conf.facts import Facts
from tuneproof.conf.modules import Used, unpackaged, used_modules
from tuneproof.conf.sources import Source, open_source
from tuneproof.conf.tree import Block, Configuration, filled_in
from tuneproof.conf.values import size_bytes
from tuneproof.errors import BadInputError
from tuneproof.lab.load.counted import Counted, CountedObservation
from tuneproof.lab.load.stage import CLIENT
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lab.subject.own_nginx import OwnNginx
from tuneproof.lines import line_of
from tuneproof.nginx_changes import LAB_VERSIONS, Kind
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import STANDIN, Backend
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.report.results.cells import Remedy
from tuneproof.wording import as_numbers
from tuneproof.yours import claims, trials
from tuneproof.yours.absent import absent_of
from tuneproof.yours.claims import OwnClaim
from tuneproof.yours.installed import Installed, installed
from tuneproof.yours.needs import EMPTY, JAVASCRIPT, PLACES, Needs, needs_of
from tuneproof.yours.no_places import no_places
from tuneproof.yours.obstacles import cache_of, shown, tested_under
from tuneproof.yours.peers import Peers, own_ports, peers_of
from tuneproof.yours.routes import Route, Unreachable, entries_of, files_wanted, one_of_each_kind, ports_of, routes_of
from tuneproof.yours.start import SCRIPT, Changes, changes_for, probe_server, script

SCENARIO: Final = "yours"
DEFAULT_MAIN: Final = "/etc/nginx/nginx.conf"
_STANDIN: Final = "standin"
_FIRST_PROBE_PORT: Final = 18080
_MOST_ROUTES: Final = 6
_BURST: Final = 1500
_TCP_RMEM: Final = "net.ipv4.tcp_rmem"
_SMALL_RMEM: Final = "40960 40960 40960"
# Problems that stop no test: a newer nginx or a module may accept the lines, and missing files are created empty.
_FOR_NGINX_TO_SAY: Final = ("unknown directive", 'unknown "', "invalid number of arguments", "invalid value", "open()")
_SMALLER_BUFFERS: Final = Remedy(
    what="read less of large responses in a loop iteration",
    patch=f"# /etc/sysctl.d/90-nginx.conf\n{_TCP_RMEM} = {_SMALL_RMEM}\n",
    at=f"{_TCP_RMEM} {_SMALL_RMEM}",
    cost="affects every socket on the machine; slows distant backends. First separate large downloads: "
    "docs/reuseport-stall.md",
    reaches_others=True,
)
_SYSCTLS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "net.ipv4.ip_unprivileged_port_start": "0",
        # Addresses on which nginx listens may not exist in the lab.
        "net.ipv4.ip_nonlocal_bind": "1",
        "net.ipv6.ip_nonlocal_bind": "1",
        # Connections from outside may be redirected to 127.0.0.1, for servers that listen only there.
        "net.ipv4.conf.all.route_localnet": "1",
    }
)
# The engine disables IPv6 if its network has none.
_IPV6: Final = {"net.ipv6.conf.all.disable_ipv6": "0"}
# The audit's measured advice: the effect and the cost of each.
_MEASURED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "upstream_keepalive": (
            "keep connections to the upstream",
            "idle connections at the upstream; a POST fails if it closes one first (docs/dying-connections.md)",
        ),
        "proxy_buffering": (
            "bound the memory of slow readers",
            "if the patch lowers a buffer_size, larger response headers fail (502); more temporary files, if allowed",
        ),
        "listen_queue": (
            "queue longer bursts of connects",
            "needs net.core.somaxconn >= 4096; helps only bursts that the present queue cannot hold",
        ),
    }
)
_SMALL_BUFFER_BYTES: Final = 32 << 10
_COST_OF_SMALL_BUFFER: Final = (
    "pays only if responses are megabytes; if the upstream is 20 ms away, a download gets at most 3 MB/s: "
    "docs/reuseport-stall.md"
)
_COST_OF_STREAMS: Final = "a client that reads slowly occupies an upstream connection, and a worker of the backend"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The user's choices."""

    configuration: str  # the name of a file, a folder or a dump
    version: str  # the version of nginx that it runs on
    choice: Choice | None = None  # how that version was chosen; None if the user named it
    image: str = ""  # the full name of an image with that nginx; empty for the project's own image
    image_option: str = "--nginx-image"  # the option that names an image
    main: str = DEFAULT_MAIN  # path of nginx.conf in the container, unless a dump names it
    location: str = ""  # the path to test; empty to test one proxied location of each kind
    host: str = ""  # the server to test; empty for all
    stream: bool = False  # whether to test only how nginx delivers streams


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The planned tests."""

    scenario: Scenario[CountedObservation]
    chosen: tuple[str, ...]  # automatic choices, in words
    around: tuple[str, ...]  # additions and changes around the configuration
    left_out: tuple[str, ...]  # untested parts, each with the reason
    packages: tuple[str, ...] = ()  # packages with further modules for the lab's nginx

    @property
    def notes(self) -> tuple[str, ...]:
        """The choices, the additions and the untested parts, in words."""
        return self.chosen + self.around + self.left_out


def propose(wanted: Wanted, source: Source | None = None) -> Proposal:
    """Return what can be tested on a configuration.

    Raises BadInputError: The configuration cannot be read, has errors, or contains nothing that can be tested.
    """
    proposer = _proposer(wanted, source or open_source(wanted.configuration))
    _must_know(wanted, proposer.configuration)
    return proposer.proposal()


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A configuration that can be started, and its surroundings."""

    facts: Facts
    subject: Subject  # the nginx that runs with it
    standin: Backend  # for all of its upstreams
    routes: tuple[Route, ...]  # one to each kind of proxied location, up to a maximum
    left_out: Mapping[str, str]  # why other proxied locations are not in ``routes``, by place
    notes: tuple[str, ...]  # as ``around`` in a Proposal
    packages: tuple[str, ...]  # as in a Proposal


def prepare(wanted: Wanted, source: Source) -> Prepared:
    """Return a configuration with everything that it needs to start, even if there is nothing to test.

    Raises BadInputError: The configuration has errors.
    """
    return _proposer(wanted, source).prepared()


def _proposer(wanted: Wanted, source: Source) -> "_Proposer":
    found = audit_source(source, version=wanted.version)
    stand_ins = [f"{one.written}: {one.value}" for one in found.facts.configuration.filled if not one.is_given]
    if found.facts.configuration.filled:
        source = filled_in(source, found.facts.configuration)
        found = audit_source(source, version=wanted.version)
    for problem in found.facts.configuration.problems:
        if not problem.message.startswith(_FOR_NGINX_TO_SAY):
            raise BadInputError(
                f"nginx would not start with this configuration: {problem.message}",
                where=f"{problem.file}:{problem.line}",
            )
    modules = _modules_for(wanted, found.facts.configuration)
    places = installed(found.facts.configuration, source, main=wanted.main)
    _without_missing(found.facts.configuration.main)
    return _Proposer(wanted, found, places, modules, stand_ins)


def _must_know(wanted: Wanted, configuration: Configuration) -> None:
    """Check that the lab's nginx of this version is new enough for the files; the user's own image may have more.

    Raises BadInputError: The lab's nginx lacks something.
    """
    for concern in concerns(configuration) if not wanted.image else ():
        change = concern.change
        newer = [version for version in LAB_VERSIONS if as_numbers(version) >= change.numbers]
        if change.kind is Kind.NEW and not change.is_backported and change.numbers > as_numbers(wanted.version):
            raise BadInputError(
                f"nginx {wanted.version} does not know {concern.what}, which nginx {change.version} added",
                where=f"{concern.said.file}:{concern.said.line}",
                remedy=f"--nginx {newer[0]} or later"
                if newer
                else f"{wanted.image_option} IMAGE, with an image that has it",
            )


def _without_missing(block: Block) -> None:
    """Forget that parts of a configuration are missing: in the lab, they are empty and set nothing."""
    block.unseen.clear()
    for inner in block.blocks:
        _without_missing(inner)


def _modules_for(wanted: Wanted, configuration: Configuration) -> tuple[Used, ...]:
    """Return the modules for the lab's nginx; empty if the configuration runs in the user's own image.

    Raises BadInputError: The files use something that neither this version of nginx nor a packaged module has.
    """
    if wanted.image:
        return ()
    used = used_modules(configuration)
    lacking = list(dict.fromkeys(unpackaged(configuration)))
    lacking += [
        f"{one.what} ({one.said.file}:{one.said.line}; packaged since nginx {one.module.since})"
        for one in used
        if as_numbers(one.module.since) > as_numbers(wanted.version)
    ]
    if lacking:
        raise BadInputError(
            f"the lab's nginx lacks modules or directives that these files use: {', '.join(lacking)}",
            remedy=f"{wanted.image_option} IMAGE, with an image that has them",
        )
    return used


class _Proposer:
    def __init__(
        self, wanted: Wanted, found: Audit, places: Installed, modules: Sequence[Used], stand_ins: Sequence[str]
    ) -> None:
        self._wanted = wanted
        self._stand_ins = stand_ins
        self._modules = modules
        self._audit = found
        configuration = found.facts.configuration
        absent = absent_of(found.facts, folder=places.folder)
        needs = needs_of(configuration, folder=places.folder, there=set(places.paths.values()))
        self._needs: Needs = absent.added_to(needs)
        self._peers: Peers = peers_of(found.facts)
        taken = {*own_ports(found.facts), *self._peers.local_ports}
        self._probe_port = next(port for port in range(_FIRST_PROBE_PORT, 1 << 16) if port not in taken)
        self._places = places.with_lines([probe_server(self._probe_port), *absent.lines])
        changes = changes_for(configuration, self._needs, probe_port=self._probe_port)
        self._changes: Changes = replace(changes, notes=(*absent.notes, *changes.notes))
        all_routes = routes_of(found.facts, location=wanted.location, host=wanted.host)
        reached = [route for route in all_routes if isinstance(route, Route)]
        kinds = one_of_each_kind(reached)
        self._routes, self._further = kinds[:_MOST_ROUTES], kinds[_MOST_ROUTES:]
        self._alike = [route for route in reached if route not in kinds]
        self._unreachable = [route for route in all_routes if isinstance(route, Unreachable)]
        self._skipped: list[str] = []  # large responses that are not tested, with the reasons
        self._yours = self._subject("yours")
        self._patches = {
            name: self._patched(name, what, cost, [edit for one in self._advice(name) for edit in one.edits])
            for name, (what, cost) in _MEASURED.items()
        }

    @property
    def configuration(self) -> Configuration:
        """The files, with the values of placeholders."""
        return self._audit.facts.configuration

    def proposal(self) -> Proposal:
        arms: dict[str, Arm[CountedObservation]] = {}
        found: list[OwnClaim] = []
        for name, route in zip(claims.unique([route.slug for route in self._routes]), self._routes, strict=True):
            found += self._of_stream(name, route, arms) if self._wanted.stream else self._of_route(name, route, arms)
        if not self._wanted.stream:
            found += self._of_queue(arms)
            found += self._of_workers(arms)
        if not found:
            why = "; ".join(f"{_place(one)}: {one.why}" for one in self._unreachable) or "nothing proxies requests"
            raise BadInputError(f"there is nothing to test: {why}", where=self._wanted.configuration)
        scenario = Scenario(
            name=SCENARIO,
            arms=tuple(arms.values()),
            claims=tuple(found),
            backends=(self._standin(),),
            beside=(CLIENT,),
            many_clients=True,
        )
        left_out = [*(f"{_place(one)}: {one.why}" for one in self._unreachable), *self._skipped]
        left_out += [f"{_place(route)}: like a tested one; to test it: {_only(route)}" for route in self._further]
        return Proposal(
            scenario=scenario,
            chosen=tuple(self._choices()),
            around=self._around(),
            left_out=tuple(left_out),
            packages=self._packages(),
        )

    def prepared(self) -> Prepared:
        return Prepared(
            facts=self._audit.facts,
            subject=self._yours,
            standin=self._standin(),
            routes=tuple(self._routes),
            left_out=self._without_route(),
            notes=self._around(),
            packages=self._packages(),
        )

    def _without_route(self) -> Mapping[str, str]:
        left_out = {_place(one): one.why for one in self._unreachable}
        for route in self._further:
            left_out[_place(route)] = f"{_MOST_ROUTES} other kinds of locations were; for this one: {_only(route)}"
        for route in self._alike:
            left_out[_place(route)] = "a location with the same settings was"
        return left_out

    def _standin(self) -> Backend:
        return Backend(
            name=_STANDIN,
            kind=STANDIN,
            ports=self._peers.ports,
            aliases=self._peers.names,
            answers_names=bool(self._peers.resolvers),
        )

    def _around(self) -> tuple[str, ...]:
        return (*self._stand_ins, *self._changes.notes, *self._notes_on_modules(), *self._peers.left_out)

    def _notes_on_modules(self) -> Iterator[str]:
        if self._wanted.image:
            yield from (f"{name}: the image must have this module" for name in self._needs.modules)
        for used in self._modules:
            if not used.is_loaded:
                yield f"{used.module.file}: loaded for {used.what} ({used.said.file}:{used.said.line})"

    def _packages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(package for used in self._modules for package in used.module.packages))

    def _choices(self) -> Iterator[str]:
        wanted, choice = self._wanted, self._wanted.choice
        if choice is not None:
            because = choice.because
            knows = f" that knows {because.what} ({because.said.file}:{because.said.line})" if because else ""
            yield f"the oldest of {', '.join(LAB_VERSIONS)}{knows}; yours: --nginx VERSION"
        for route in self._routes:
            place = f"location {route.proxied.target.location}"
            if route.headers:
                sent = ", ".join(f"{name}: {value}" for name, value in route.headers)
                yield f"{place} is tested with {sent}, since nginx itself answers other requests"
            if wanted.location:
                yield f"--location {wanted.location}: nginx takes {place} for it"
            elif under := tested_under(route.proxied.target.block):
                yield f"{place} is tested with {under}"

    def _of_route(self, name: str, route: Route, arms: dict[str, Arm[CountedObservation]]) -> Iterator[OwnClaim]:
        asked = _arm(arms, f"{name}-requests", self._yours, trials.requests(route))
        yield claims.connects(name, route, asked)
        if self._concerns(route, "upstream_keepalive") and (kept := self._patches["upstream_keepalive"]):
            change, subject = kept
            after = _arm(arms, f"{name}-requests-kept", subject, trials.requests(route))
            yield claims.keeps_connections(name, route, (asked, after), change)
        cache = cache_of(route.proxied.target.block, route.proxied.target.kind)
        if cache is not None:
            self._skipped.append(f"{_place(route)}: large responses, since a cache answers ({shown(cache)})")
            return
        target = route.proxied.target
        passes = f"{target.kind}_pass_request_headers"
        if target.block.is_off(passes):
            self._skipped.append(
                f"{_place(route)}: large responses, since the header that requests them is not passed on ({passes} off)"
            )
            return
        held = route.proxied.reader_bytes
        if held is not None:
            slow = _arm(arms, f"{name}-slow-readers", self._yours, trials.slow_readers(route, held))
            yield claims.holds_what_is_computed(name, route, slow, held)
            if self._concerns(route, "proxy_buffering") and (smaller := self._patches["proxy_buffering"]):
                change, subject = smaller
                after = _arm(arms, f"{name}-slow-readers-bounded", subject, trials.slow_readers(route, held))
                yield claims.holds_less(name, route, (slow, after), change)
        if not self._wanted.image and route.proxied.is_buffered:
            loaded = _arm(arms, f"{name}-bulk", self._yours, trials.bulk(route))
            yield claims.keeps_loop_busy(name, route, loaded)
            if bounded := self._bounded(name, route):
                by, change, subject = bounded
                after = _arm(arms, f"{name}-bulk-{by.replace('_', '-')}", subject, trials.bulk(route))
                yield claims.shortens_turns(name, route, (loaded, after), change, by=by)

    def _of_stream(self, name: str, route: Route, arms: dict[str, Arm[CountedObservation]]) -> Iterator[OwnClaim]:
        asked = _arm(arms, f"{name}-stream", self._yours, trials.stream(route))
        yield claims.streams(name, route, asked)
        if route.proxied.is_buffered and (unbuffered := self._unbuffered()):
            change, subject = unbuffered
            after = _arm(arms, f"{name}-stream-unbuffered", subject, trials.stream(route))
            yield claims.delivers_events(name, route, (asked, after), change)

    def _of_queue(self, arms: dict[str, Arm[CountedObservation]]) -> Iterator[OwnClaim]:
        longer = self._patches["listen_queue"]
        advised = [one.at for one in self._advice("listen_queue")]
        sockets = [one for one in self._audit.facts.sockets.found if any(at in one.listens for at in advised)]
        changed = {socket.address.port for socket in sockets}
        routes = [(route.port, route.listens_on) for route in self._routes]
        ports = [ports for ports in (*routes, *ports_of(self._audit.facts)) if ports[1] in changed]
        if longer is None or not ports:
            return
        change, subject = longer
        port, listens_on = ports[0]
        before = _arm(arms, "burst", self._yours, trials.burst(port, listens_on, _BURST))
        after = _arm(arms, "burst-longer-queue", subject, trials.burst(port, listens_on, _BURST))
        yield claims.queues_more(listens_on, _BURST, (before, after), change)

    def _of_workers(self, arms: dict[str, Arm[CountedObservation]]) -> Iterator[OwnClaim]:
        connections = self._audit.facts.worker_connections
        if connections is not None and any(one.name == "worker_connections" for one in self._audit.advice):
            arm = _arm(arms, "fresh-workers", self._yours, trials.fresh_workers)
            yield claims.takes_at_start(arm, connections, connections_bytes(self._audit.facts))

    def _concerns(self, route: Route, name: str) -> bool:
        return any(one.at is route.proxied.target.statement and one.edits for one in self._advice(name))

    def _advice(self, name: str) -> list[Advised]:
        return [one for one in self._audit.advice if one.name == name and one.edits]

    def _unbuffered(self) -> tuple[Remedy, Subject] | None:
        """Return the change after which nginx does not hold back event streams on any route."""
        (text,) = [one.patch for one in line_of("streams", "buffering_off_is_enough").audit if one.patch]
        targets = [route.proxied.target for route in self._routes if route.proxied.is_buffered]
        edits = [
            setting(one.block.around("location") or one.block, text.replace("{kind}", one.kind)) for one in targets
        ]
        return self._patched("streams", "pass on a stream's events as they arrive", _COST_OF_STREAMS, edits)

    def _bounded(self, name: str, route: Route) -> tuple[str, Remedy, Subject] | None:
        """Return the change that limits what a route's upstream connections receive at once; None if the files do.

        If nginx has no directive for this, the change is a kernel setting.
        """
        target = route.proxied.target
        directive_name = f"{target.kind}_socket_rcvbuf"
        if directive(directive_name, self._audit.facts.version_numbers) is None:
            return "small_rmem", _SMALLER_BUFFERS, self._subject("small-rmem", sysctls={_TCP_RMEM: _SMALL_RMEM})
        said = target.block.setting(directive_name)
        own_bytes = size_bytes(said.value) if said else None
        if own_bytes and own_bytes <= _SMALL_BUFFER_BYTES:
            return None
        edit = setting(
            target.block.around("location") or target.block, f"{directive_name} {_SMALL_BUFFER_BYTES >> 10}k;"
        )
        found = self._patched(f"{name}-socket-rcvbuf", _SMALLER_BUFFERS.what, _COST_OF_SMALL_BUFFER, [edit])
        return ("socket_rcvbuf", *found) if found else None

    def _patched(self, name: str, what: str, cost: str, edits: Sequence[Edit]) -> tuple[Remedy, Subject] | None:
        """Return the remedy that consists of these edits, and an nginx with them; None without edits."""
        texts = self._audit.facts.configuration.texts
        patch = diff(edits, texts) if edits else ""
        if not patch:
            return None
        remedy = Remedy(what=what, patch=patch, at=place_of(edits), cost=cost)
        return remedy, self._subject(f"patched-{name.replace('_', '-')}", edits)

    def _subject(
        self, name: str, edits: Sequence[Edit] = (), *, sysctls: Mapping[str, str] = MappingProxyType({})
    ) -> Subject:
        texts = self._audit.facts.configuration.texts
        changed = apply([*self._changes.edits, *edits], texts)
        places = self._places
        ours = {PLACES: no_places(), JAVASCRIPT: b"export default {};\n"}
        served = [] if self._wanted.image else list(files_wanted(self._routes))
        files = {
            **places.files({**texts, **changed}),
            SCRIPT: script(
                self._needs,
                main=places.main,
                served=served,
                sockets=self._peers.sockets,
                modules=[used.module.file for used in self._modules if not used.is_loaded],
            ).encode("utf-8", errors="surrogateescape"),
            **{path: ours[name] for path, name in self._needs.made.items() if name in ours},
        }
        peers = self._peers
        return Subject(
            name=name,
            config=SubjectConfig(port=self._probe_port, access_log=False, reuseport=False),
            sysctls={**_SYSCTLS, **(_IPV6 if peers.has_ipv6 else {}), **sysctls},
            records_turns=not self._wanted.image,
            cpus=CpuShare.ASKED,
            own=OwnNginx(
                files=files,
                materials={path: name for path, name in self._needs.made.items() if name != EMPTY and name not in ours},
                script=SCRIPT,
                image=self._wanted.image,
                sockets=len(peers.sockets),
                local_ports=peers.local_ports,
                local_addresses=peers.local_addresses,
                answers_names=peers.local_names,
                addresses=peers.addresses,
                entries={entry: place for place, entry in entries_of(self._audit.facts).items()},
                workers_are_root="root" in self._needs.accounts[:1],
                is_part=self._audit.facts.configuration.is_fragment,
                notes=self._changes.notes,
            ),
        )


def _arm(arms: dict[str, Arm[CountedObservation]], name: str, subject: Subject, script_: trials.Script) -> str:
    arms.setdefault(name, Arm(name=name, subject=subject, plan=Counted(script=script_, starts=False)))
    return name


def _only(route: Route) -> str:
    """Return the options that restrict a run to one route."""
    return f"--location {route.path}"


def _place(one: Route | Unreachable) -> str:
    said = one.proxied.target.statement
    return f"{said.file}:{said.line}, location {one.proxied.target.location}"
