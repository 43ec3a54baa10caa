"""The million: what a slow or idle proxied connection costs, and what a million of them would."""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.held_connections import HeldConnections, HeldObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.claims import Claim, Metrics
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = "Nginx OOM in a stress test of a million connections (2020)"
CONNECTIONS: Final = 10_000
MILLION: Final = 1_000_000
MACHINES: Final = 4
WORKERS: Final = 32
# What the article's machines had, and what they used once buffering was off and proxy_buffer_size small.
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
# Ten thousand ports per trial, which stay in TIME-WAIT for a minute: as the articles do, they are used again.
SYSCTLS: Final = {"net.ipv4.tcp_tw_reuse": "1", "net.ipv4.ip_local_port_range": "1024 65535"}
HELD: Final = Arm(
    name="held",
    subject=Subject(name="subject", config=CONFIG, sysctls=SYSCTLS),
    plan=HeldConnections(connections=CONNECTIONS),
)


def machine_bytes(observation: HeldObservation) -> float:
    """Return what each of four machines would need for its quarter of a million connections.

    Kernel and workers together; what 32 workers need beside their connections is in worker_connections' scenario.
    """
    per_connection = observation.worker_bytes_per_connection + observation.kernel_bytes_per_connection
    return per_connection * MILLION / MACHINES


def figures(arms: Metrics) -> str:
    """Return the prediction in words, beside what one client needed."""
    held = {name: arms[HELD.name][f"{name}_bytes_per_connection"] or 0.0 for name in ("worker", "kernel")}
    machine_gb = sum(held.values()) * MILLION / MACHINES / 1e9
    client_mb = (arms[HELD.name]["client_rss_bytes"] or 0.0) / 1e6
    return (
        f"{held['worker']:.0f} bytes of nginx and {held['kernel']:.0f} of the kernel per connection; a million over "
        f"{MACHINES} machines of {WORKERS} workers: {machine_gb:.2f} GB each, the article's had 128 and then used 20; "
        f"one client held {CONNECTIONS} in {client_mb:.0f} MB"
    )


SCENARIO: Final = Scenario(
    name="connection_capacity",
    arms=(HELD,),
    claims=(
        Claim[HeldObservation](
            name="million_idle_connections_fit",
            sentence="A million idle proxied connections need less than half of the memory of four 128 GB machines",
            source=f"{ARTICLE}: all is well as long as no data flows",
            arms=(HELD.name,),
            effect=lambda block: MACHINE_BYTES / machine_bytes(block[HELD.name]),
            effect_name="128 GB ÷ predicted memory of a machine",
            scale=Scale.RATIO,
            threshold=2.0,
            why="the other half of the memory is needed for data in transit",
            condition=lambda block: block[HELD.name].client_rss_bytes <= CLIENT_LIMIT_BYTES,
            condition_name="the one client stayed below 200 MB",
            moderator=figures,
        ),
        Claim[HeldObservation](
            name="million_idle_connections_cost_20_gb",
            sentence="Idle connections alone account for at least half of the article's 20 GB with buffering off",
            source=f"{ARTICLE}: memory stays at about 20 GB",
            arms=(HELD.name,),
            effect=lambda block: machine_bytes(block[HELD.name]) / USED_BYTES,
            effect_name="predicted memory of a machine ÷ 20 GB",
            scale=Scale.RATIO,
            threshold=0.5,
            why="a cause that accounts for less than half of the article's 20 GB is not the explanation",
            expected=Verdict.REFUTED,
        ),
    ),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
