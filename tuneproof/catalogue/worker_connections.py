"""worker_connections: each connection costs memory at start, whether it is used or not."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.counted import Counted, Figures
from tuneproof.lab.load.counted import CountedObservation as Seen
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario


def start(rig: Rig) -> Figures:
    """Start new workers; return their anonymous memory once each has filled its table of connections."""
    rig.fresh_workers()
    return {"rss_bytes": rig.steady(lambda: sum(worker.rss_anon_bytes for worker in rig.workers()), readings=2)}


def arm(name: str, workers: int, slots: int) -> Arm[Seen]:
    """Return the arm with this number of workers and worker_connections."""
    config = SubjectConfig(worker_processes=workers, worker_connections=slots)
    plan = Counted(script=start, starts=False)
    series = "1 worker" if workers == 1 else f"{workers} workers"
    dose = Dose(of="worker_connections", unit="", amount=slots, series=series)
    return Arm(name=name, subject=Subject(name=name, config=config), plan=plan, doses=(dose,))


SIZES: Final = {
    f"{workers}-of-{slots}": (workers, slots) for workers in (1, 2) for slots in (512, 25_000, 50_000, 100_000)
}
ARMS = tuple(arm(name, *size) for name, size in SIZES.items())


def claim(name: str, text: str, source: str, of: tuple[int, int], is_bytes: float, since: str = "") -> Claim[Seen]:
    """Return the claim that a regression predicts this many bytes, within 3 %, for ``of``: (workers, connections)."""

    def effect(block: Mapping[str, Seen]) -> float:
        sizes = np.array([(SIZES[name][0], SIZES[name][0] * SIZES[name][1]) for name in block], dtype=float)
        seen = np.array([item["rss_bytes"] for item in block.values()])
        return float(np.linalg.lstsq(sizes, seen, rcond=None)[0] @ of) / is_bytes

    return Claim(
        name=name, sentence=text, source=source, arms=tuple(item.name for item in ARMS), effect=effect,
        effect_name=f"bytes ÷ {is_bytes:.4g}", scale=Scale.RATIO, form=Form.SAME, threshold=1.03,
        why="8 bytes that 1.19.10 added to 424, memory pages and nginx's other memory at start come to 3 % at most",
        expired_since=since, expired_reason="ngx_connection_t grew with QUIC",
        by_build=since and "ngx_connection_t has not grown without HTTP/3 and --with-compat")  # fmt: skip


SLOT = claim("a_connection_costs_424_bytes", "Each connection in worker_connections costs 424 bytes at start",
             "sizes of ngx_connection_t and two ngx_event_t", of=(0, 1), is_bytes=424, since="1.25.0")  # fmt: skip
START = claim("a_million_connections_cost_14_gb", "worker_connections 1000000 with 32 workers costs 14 GB at start",
              "Nginx OOM in a stress test (2020)", of=(32, 32_000_000), is_bytes=14e9)  # fmt: skip
SCENARIO = Scenario(name="worker_connections", arms=ARMS, claims=(SLOT, START), backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("a_connection_costs_424_bytes", "a_million_connections_cost_14_gb"),
)
