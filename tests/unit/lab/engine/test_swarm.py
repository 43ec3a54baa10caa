"""An engine's role in its swarm, and the reasons why engines cannot share a network."""

import pytest

from tuneproof.lab.engine.swarm import Node, faults, manager_of

# Two engines of version 20.10 reported this.
MANAGER = {
    "Swarm": {"NodeID": "m", "NodeAddr": "10.0.0.1", "LocalNodeState": "active", "ControlAvailable": True, "Error": ""}
}
WORKER = {"Swarm": {"NodeID": "w", "LocalNodeState": "active", "ControlAvailable": False, "Error": ""}}
OUTSIDE = {"Swarm": {"NodeID": "", "LocalNodeState": "inactive", "ControlAvailable": False, "Error": ""}}
PENDING = {"Swarm": {"NodeID": "", "LocalNodeState": "pending", "ControlAvailable": False, "Error": "no route to host"}}
TOGETHER = {"a": Node.from_info(MANAGER), "b": Node.from_info(WORKER)}


def test_an_engine_reports_its_role_in_the_swarm() -> None:
    assert Node.from_info(MANAGER) == Node(id="m", state="active", is_manager=True)
    assert Node.from_info(WORKER) == Node(id="w", state="active")
    assert Node.from_info(OUTSIDE) == Node.from_info({}) == Node()


def test_engines_in_one_swarm_can_share_a_network() -> None:
    assert manager_of(TOGETHER) == "a"
    assert manager_of({"b": TOGETHER["b"], "a": TOGETHER["a"]}) == "a"
    assert faults(TOGETHER, {"m": "ready", "w": "ready"}) == []


@pytest.mark.parametrize(
    ("nodes", "states", "found"),
    [
        ({"b": Node.from_info(WORKER)}, {}, ["No engine here is a manager of its swarm: b."]),
        (
            {"a": Node.from_info(OUTSIDE), "b": Node.from_info(PENDING)},
            {},
            [
                "Engine a is in no swarm (its state there: inactive).",
                "Engine b is in no swarm (its state there: pending, no route to host).",
            ],
        ),
        (TOGETHER, {"m": "ready"}, ["Engine b and engine a are in different swarms."]),
        (
            TOGETHER,
            {"m": "ready", "w": "down"},
            ["Engine a reports b as down: ports between them may be blocked (TCP 2377, TCP and UDP 7946, UDP 4789)."],
        ),
    ],
    ids=["no-manager", "both-outside", "another-swarm", "down"],
)
def test_each_reason_why_engines_cannot_share_a_network_is_reported(
    nodes: dict[str, Node], states: dict[str, str], found: list[str]
) -> None:
    assert faults(nodes, states) == found
