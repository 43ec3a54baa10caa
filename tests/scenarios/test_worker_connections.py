"""worker_connections: every slot costs memory at start, used or not."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from fixtures.inference.intervals import Scale
from fixtures.load.start_up import StartUp, StartUpObservation
from fixtures.pytest_plugin.measurements import Prove
from fixtures.scenario.arms import Arm, Subject
from fixtures.scenario.claims import Claim
from fixtures.scenario.scenarios import Scenario
from fixtures.subject.config import SubjectConfig

pytestmark = [pytest.mark.engine]

ARTICLE = "Nginx OOM in a stress test of a million connections (2020): 14 GB at start, 32 workers"


def arm(workers: int, slots: int) -> Arm[StartUpObservation]:
    """Return the arm of an nginx with so many workers and worker_connections."""
    config = SubjectConfig(worker_processes=workers, worker_connections=slots, access_log=False)
    name = f"{workers}-workers-{slots}-connections"
    plan = StartUp(workers=workers, worker_connections=slots)
    return Arm(name=name, subject=Subject(name=name, config=config), plan=plan)


ARMS = tuple(arm(workers, slots) for workers, slots in product((1, 2), (512, 25_000, 50_000, 100_000)))


def costs_bytes(block: Mapping[str, StartUpObservation]) -> tuple[float, float]:
    """Return the regression's bytes per worker and bytes per connection."""
    found = np.array([(item.workers, item.slots, item.rss_bytes) for item in block.values()], dtype=float)
    (per_worker, per_slot), *_ = np.linalg.lstsq(found[:, :2], found[:, 2], rcond=None)
    return float(per_worker), float(per_slot)


def distance(found_bytes: float, claimed_bytes: float) -> float:
    """Return how far off a figure is, as a negative share: the nearer, the larger."""
    return -abs(found_bytes / claimed_bytes - 1)


def start_bytes(block: Mapping[str, StartUpObservation]) -> float:
    """Return the memory that the regression predicts for 32 workers with a million connections each."""
    per_worker, per_slot = costs_bytes(block)
    return 32 * (per_worker + 1_000_000 * per_slot)


CLAIMS = (
    Claim[StartUpObservation](
        name="a_connection_costs_424_bytes",
        sentence="Every connection of worker_connections costs 424 bytes at start, whatever is done with it",
        source="sizes of nginx's ngx_connection_t and two ngx_event_t on 64 bits",
        arms=tuple(item.name for item in ARMS),
        effect=lambda block: distance(costs_bytes(block)[1], 424),
        effect_name="bytes per connection, distance from 424 (0 is exact)",
        scale=Scale.DIFFERENCE,
        threshold=-0.03,
    ),
    Claim[StartUpObservation](
        name="a_million_connections_cost_14_gb",
        sentence="worker_connections 1000000 costs 32 workers about 14 GB before the first client",
        source=ARTICLE,
        arms=tuple(item.name for item in ARMS),
        effect=lambda block: distance(start_bytes(block), 14e9),
        effect_name="predicted memory of 32 workers, distance from 14 GB (0 is exact)",
        scale=Scale.DIFFERENCE,
        threshold=-0.05,
    ),
)
SCENARIO = Scenario(name="worker_connections", arms=ARMS, claims=CLAIMS, backends=())


@pytest.mark.claim("a_connection_costs_424_bytes")
def test_every_connection_costs_the_size_of_its_structures(prove: Prove) -> None:
    """The master forks; each worker allocates and touches all of its connections at once."""
    prove()


@pytest.mark.claim("a_million_connections_cost_14_gb")
def test_a_million_connections_cost_14_gb_before_the_first_client(prove: Prove) -> None:
    """A prediction from the regression: nobody needs to start 32 such workers to know."""
    prove()
