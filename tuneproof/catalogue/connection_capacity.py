"""The memory of one idle proxied connection and of a million: "Nginx OOM in a stress test of a million connections"."""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.held_connections import HeldConnections, HeldObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.claims import Metrics
from tuneproof.proof.scenario.scenarios import Scenario

CONNECTIONS: Final = 10_000
MILLION: Final = 1_000_000
MACHINES: Final = 4
WORKERS: Final = 32
# Memory of the article's machines, and how much of it they used with buffering off and a small proxy_buffer_size.
MACHINE_BYTES: Final = 128e9
USED_BYTES: Final = 20e9
CLIENT_LIMIT_BYTES: Final = 200e6

BACKEND: Final = Backend(kind=ASYNCIO)
CONFIG: Final = SubjectConfig(
    upstream=BACKEND.upstream,
    location=("proxy_buffering off", "proxy_buffer_size 4k", "proxy_read_timeout 900"),
    worker_connections=CONNECTIONS + 1000,
    access_log=False,
)
# A trial takes ten thousand ports, which stay in TIME-WAIT for a minute, so later trials reuse them.
SYSCTLS: Final = {"net.ipv4.tcp_tw_reuse": "1", "net.ipv4.ip_local_port_range": "1024 65535"}
HELD: Final = Arm(
    name="held",
    subject=Subject(name="subject", config=CONFIG, sysctls=SYSCTLS),
    plan=HeldConnections(connections=CONNECTIONS),
)


def machine_bytes(observation: HeldObservation) -> float:
    """Return the memory that each of four machines would need for its quarter of a million connections.

    This counts the kernel and the workers, but not what 32 workers need without any connections, which the scenario
    worker_connections measures.
    """
    per_connection = observation.worker_bytes_per_connection + observation.kernel_bytes_per_connection
    return per_connection * MILLION / MACHINES


def figures(arms: Metrics) -> str:
    """Return the prediction in words, with the memory of one connection and of the client."""
    held = {name: arms[HELD.name][f"{name}_bytes_per_connection"] or 0.0 for name in ("worker", "kernel")}
    machine_gb = sum(held.values()) * MILLION / MACHINES / 1e9
    client_mb = (arms[HELD.name]["client_rss_bytes"] or 0.0) / 1e6
    return (
        f"{held['worker']:.0f} bytes of nginx and {held['kernel']:.0f} of the kernel per connection; a million over "
        f"{MACHINES} machines with {WORKERS} workers: {machine_gb:.2f} GB each (the article's had 128 GB, used 20); "
        f"one client held {CONNECTIONS} connections in {client_mb:.0f} MB"
    )


def room(observation: HeldObservation) -> float:
    """Return the memory of one of the article's machines ÷ the predicted memory."""
    return MACHINE_BYTES / machine_bytes(observation)


def used(observation: HeldObservation) -> float:
    """Return the predicted memory of a machine ÷ the memory that the article's machines used."""
    return machine_bytes(observation) / USED_BYTES


def client_stays_small(block: Mapping[str, HeldObservation]) -> bool:
    """Tell whether the client's memory was too small to distort the figures."""
    return block[HELD.name].client_rss_bytes <= CLIENT_LIMIT_BYTES


SCENARIO: Final = Scenario(
    name="connection_capacity",
    arms=(HELD,),
    claims=claims_of(
        "connection_capacity",
        code={"client_stays_small": client_stays_small, "figures": figures, "room": room, "used": used},
    ),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
