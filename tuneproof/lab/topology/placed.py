"""Where a lab's containers run: all on one engine, or on several, by role, in one overlay network.

A container that joins another's namespaces runs on the same engine; a netadmin container that owns a role's network
namespace runs on the role's engine.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.lab.engine.contexts import chosen_context, resolved
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.named import EngineFacts, environment_of, look
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.swarm import faults, manager_of
from tuneproof.lab.topology.roles import Role

OPTION: Final = "--place"
PLACEABLE: Final = (Role.SUBJECT, Role.CLIENT, Role.BACKEND)
"""Roles that can be placed; other containers run on the engine of the container to which they belong."""
SWARM_STEPS: Final = (
    "`docker swarm init` on one of them and `docker swarm join` on the others, with the ports between them open; "
    "docs/engines.md has the steps"
)
WITHOUT_ADDRESS: Final = {"com.docker.network.bridge.inhibit_ipv4": "true"}
"""Leaves Docker's bridge without an address on the host: with one, containers would reach every service of the host,
even with "internal". https://docs.docker.com/engine/network/drivers/bridge/#options"""
_ANSWERS_WITHIN_S: Final = 300
"""How long an engine may take for one call: docker-py's 60 s are too short on emulated CPUs if five labs start at
once."""
DEFAULT: Final = ""
"""The name of the engine for roles that are not placed; see :func:`label_of`."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine of a lab."""

    name: str = DEFAULT  # The user's name for it; :data:`DEFAULT` for the default engine
    environment: Mapping[str, str] | None = None  # How to reach it; None for this process's own
    cpus: int = 0  # Number of its CPUs; 0 if unknown
    node: str = ""  # Its id in the swarm; empty outside a swarm
    # Its CPUs for containers that request CPUs of the subject's machine, in the kernel's list format; empty if this is
    # that machine
    own_cpus: str = ""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return label_of(self.name)

    def cpuset(self, requested: str) -> str:
        """Return the requested CPUs, or the engine's own instead if it has any; empty for all CPUs."""
        return self.own_cpus or requested if requested else ""

    @property
    def client_options(self) -> dict[str, Any]:
        """The arguments with which ``docker.from_env`` reaches it."""
        environment = os.environ if self.environment is None else self.environment
        return {"timeout": _ANSWERS_WITHIN_S, "environment": resolved(environment)}


@dataclass(frozen=True, kw_only=True)
class Engines:
    """The engines of a lab, by role."""

    default: Engine = field(default_factory=Engine)  # The engine for roles that are not in ``by_role``
    by_role: Mapping[Role, Engine] = field(default_factory=lambda: MappingProxyType({}))
    manager: Engine | None = None  # The engine that creates the overlay network; None if all roles are on one engine

    def of(self, role: Role) -> Engine:
        """Return the engine of a role's containers."""
        return self.by_role.get(role, self.default)

    @property
    def subject(self) -> Engine:
        """The engine of the nginx containers: its machine is the one under test."""
        return self.of(Role.SUBJECT)

    @property
    def used(self) -> tuple[Engine, ...]:
        """All engines that have a role, each once; the engine that creates the network comes last."""
        distinct = {engine.name: engine for engine in map(self.of, PLACEABLE)}
        return tuple(sorted(distinct.values(), key=lambda engine: engine is self.manager))

    @property
    def are_several(self) -> bool:
        """Whether the lab needs a network across machines."""
        return self.manager is not None

    @property
    def home(self) -> Engine:
        """The engine that creates the lab's network."""
        return self.manager or self.subject

    @property
    def network_options(self) -> dict[str, Any]:
        """Options that the lab's network needs if it spans several engines."""
        return {"driver": "overlay", "attachable": True} if self.are_several else {}

    @property
    def bridge_options(self) -> dict[str, Any]:
        """Further options of the lab's network if it is on one engine."""
        return {} if self.are_several else {"options": WITHOUT_ADDRESS}

    def alone(self, role: Role) -> "Engines":
        """Return this role's engine for all roles."""
        return Engines(default=self.of(role))


def label_of(name: str) -> str:
    """Return an engine's name for messages."""
    return name or "default"


def parse_places(words: Iterable[str]) -> dict[Role, str]:
    """Return engines' names by role from words ROLE=ENGINE (BadInputError: unknown or repeated role, or no engine)."""
    roles = {role.value: role for role in PLACEABLE}
    found: dict[Role, str] = {}
    for word in words:
        role, _, engine = word.partition("=")
        if role not in roles:
            raise BadInputError(f"{OPTION} {word}: there is no such role", remedy=f"use one of {', '.join(roles)}")
        if not engine:
            raise BadInputError(f"{OPTION} {word}: the engine is missing", remedy=f"{OPTION} {role}=CONTEXT_OR_ADDRESS")
        if roles[role] in found:
            raise BadInputError(f"{OPTION} {word}: {role} is placed twice", remedy="place each role once")
        found[roles[role]] = engine
    return found


@contextmanager
def placed(places: Mapping[Role, str]) -> Iterator[Engines]:
    """Reach the engines of a placed lab, and check that they can share a network, before anything starts.

    Raises BadInputError: an engine is unknown, or their architectures differ. Raises EngineUnavailableError: one does
    not respond, or is too old. Raises CannotRunHereError: they cannot share a network, with all reasons.
    """
    names = {role: places.get(role, DEFAULT) for role in PLACEABLE}
    with ExitStack() as reached:
        environments = {name: reached.enter_context(_environment(name)) for name in dict.fromkeys(names.values())}
        facts = {name: look(label_of(name), environment) for name, environment in environments.items()}
        first = _first_names(facts)
        kept = {name: facts[name] for name in dict.fromkeys(first.values())}
        _refuse_different(list(kept.values()))
        manager = _manager_for(kept, environments) if len(kept) > 1 else None
        engines = {
            name: Engine(name=name, environment=environments[name], cpus=fact.cpus, node=fact.node.id)
            for name, fact in kept.items()
        }
        yield Engines(
            default=engines[first[names[Role.SUBJECT]]],
            by_role={role: engines[first[name]] for role, name in names.items()},
            manager=None if manager is None else engines[manager],
        )


def _first_names(facts: Mapping[str, EngineFacts]) -> dict[str, str]:
    """Map each name to the first name of the same engine: names with the same id in the swarm are one engine."""
    known: dict[str, str] = {}
    return {name: known.setdefault(fact.node.id or name, name) for name, fact in facts.items()}


def _refuse_different(facts: Sequence[EngineFacts]) -> None:
    for fact in facts[1:]:
        if fact.architecture != facts[0].architecture:
            raise BadInputError(
                f"Engine {fact.name} is {fact.architecture}, and {facts[0].name} is {facts[0].architecture}: all "
                "images of a lab must have the same architecture.",
                remedy="place all roles on engines of the same architecture",
            )


def why_not_together(facts: Mapping[str, EngineFacts], environments: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return why engines cannot share an overlay network, in sentences; empty if they can."""
    nodes = {name: fact.node for name, fact in facts.items()}
    manager = manager_of(nodes)
    states: dict[str, str] = {}
    if manager is not None:
        client = connect(environment=environments[manager])
        with engine_errors(f"asking engine {label_of(manager)} for the nodes of its swarm"):
            states = {node["ID"]: node["Status"]["State"] for node in client.api.nodes()}
        client.close()
    return faults({label_of(name): node for name, node in nodes.items()}, states)


def _manager_for(facts: Mapping[str, EngineFacts], environments: Mapping[str, Mapping[str, str]]) -> str:
    manager = manager_of({name: fact.node for name, fact in facts.items()})
    if (found := why_not_together(facts, environments)) or manager is None:
        raise CannotRunHereError(" ".join(found), remedy=SWARM_STEPS)
    return manager


def _environment(name: str) -> AbstractContextManager[dict[str, str]]:
    """Return the environment for an engine; the default engine is reached as in every other command."""
    return environment_of(name or chosen_context(os.environ)[0], option=OPTION)
