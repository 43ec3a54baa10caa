"""The million: what a slow or idle proxied connection costs, and what a million of them would."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.held_connections import HeldConnections, HeldObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.claims import Claim, Condition
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


def figures(blocks: Sequence[Mapping[str, HeldObservation]]) -> Condition:
    """Return whether the one client stayed small, with the prediction in words."""
    held = [block[HELD.name] for block in blocks]
    client_bytes = max(item.client_rss_bytes for item in held)
    workers = statistics.median(item.worker_bytes_per_connection for item in held)
    kernel = statistics.median(item.kernel_bytes_per_connection for item in held)
    predicted = [machine_bytes(item) / 1e9 for item in held]
    return Condition(
        met=client_bytes <= CLIENT_LIMIT_BYTES,
        figures=f"{workers:.0f} bytes of nginx and {kernel:.0f} of the kernel per connection; a million over "
        f"{MACHINES} machines of {WORKERS} workers: {statistics.median(predicted):.2f} GB each "
        f"[{min(predicted):.2f} to {max(predicted):.2f}], the article's had 128 and then used 20; one client held "
        f"{CONNECTIONS} in {client_bytes / 1e6:.0f} MB",
    )


SCENARIO: Final = Scenario(
    name="connection_capacity",
    arms=(HELD,),
    claims=(
        Claim[HeldObservation](
            name="million_idle_connections_fit",
            sentence="A million idle proxied connections fit into four machines of 128 GB, with room to spare",
            source=f"{ARTICLE}: all is well as long as no data flows",
            arms=(HELD.name,),
            effect=lambda block: MACHINE_BYTES / machine_bytes(block[HELD.name]),
            effect_name="128 GB ÷ predicted memory of a machine",
            scale=Scale.RATIO,
            threshold=2.0,
            condition=figures,
        ),
        Claim[HeldObservation](
            name="million_idle_connections_cost_20_gb",
            sentence="Idle connections alone explain the 20 GB that remained when buffering was off",
            source=f"{ARTICLE}: memory stays at about 20 GB",
            arms=(HELD.name,),
            effect=lambda block: machine_bytes(block[HELD.name]) / USED_BYTES,
            effect_name="predicted memory of a machine ÷ 20 GB",
            scale=Scale.RATIO,
            threshold=0.5,
            expected=Verdict.REFUTED,
        ),
    ),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
