"""Docker's Swarm mode: an engine's membership in a swarm, and what prevents engines from sharing a network.

An overlay network spans the engines of one swarm, and only a manager can create and remove it:
https://docs.docker.com/engine/network/drivers/overlay/
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

ACTIVE: Final = "active"
READY: Final = "ready"
PORTS: Final = "TCP 2377, TCP and UDP 7946, UDP 4789"
"""The ports between engines of a swarm:
https://docs.docker.com/engine/swarm/swarm-tutorial/#open-protocols-and-ports-between-the-hosts"""


@dataclass(frozen=True, kw_only=True)
class Node:
    """An engine's membership in a swarm."""

    id: str = ""  # The engine's id in its swarm; empty outside any swarm
    state: str = "inactive"  # "active" in a swarm, "inactive" outside; or "pending", "error" or "locked"
    is_manager: bool = False
    fault: str = ""  # The engine's error message about its membership; empty for none

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> Self:
        """Build a node from the engine's information."""
        swarm = info.get("Swarm", {})
        return cls(
            id=swarm.get("NodeID", ""),
            state=swarm.get("LocalNodeState", "inactive"),
            is_manager=bool(swarm.get("ControlAvailable")),
            fault=swarm.get("Error", ""),
        )


def manager_of(nodes: Mapping[str, Node]) -> str | None:
    """Return the name of the first engine that manages a swarm, or None."""
    return next((name for name, node in nodes.items() if node.state == ACTIVE and node.is_manager), None)


def faults(nodes: Mapping[str, Node], states: Mapping[str, str]) -> list[str]:
    """Return why engines cannot share an overlay network, in sentences; empty if they can.

    states: the states of the swarm's nodes, such as "ready" or "down", by id, from the first manager among these
        engines; empty without a manager.
    """
    found = [
        f"Engine {name} is in no swarm (its state there: {node.state}{f', {node.fault}' if node.fault else ''})."
        for name, node in nodes.items()
        if node.state != ACTIVE
    ]
    members = {name: node for name, node in nodes.items() if node.state == ACTIVE}
    manager = manager_of(nodes)
    if members and manager is None:
        found.append(f"No engine here is a manager of its swarm: {', '.join(members)}.")
    if manager is None:
        return found
    for name, node in members.items():
        if node.id not in states:
            found.append(f"Engine {name} and engine {manager} are in different swarms.")
        elif states[node.id] != READY:
            found.append(
                f"Engine {manager} reports {name} as {states[node.id]}: ports between them may be blocked ({PORTS})."
            )
    return found
