"""All scenarios, as a quick run on an ordinary host with the bare network has them."""

from typing import Any, Final

from fixtures.network.profiles import BARE
from fixtures.scenario.scenarios import Scenario
from tests.scenarios.differential_diagnosis_claims import SCENARIO as DIAGNOSIS
from tests.scenarios.listen_queue_claims import SCENARIO as QUEUE
from tests.scenarios.network_quality_claims import CORNERS, NetworkQuality
from tests.scenarios.proxy_buffering_claims import SCENARIO as BUFFERING
from tests.scenarios.reuseport_stall_claims import ReuseportStall
from tests.scenarios.reuseport_stall_league_claims import League
from tests.scenarios.test_connection_capacity import SCENARIO as CAPACITY
from tests.scenarios.test_listen_queue_allocation import SCENARIO as ALLOCATION
from tests.scenarios.test_listen_queue_half_open import SCENARIO as SYN_QUEUE
from tests.scenarios.test_proxy_buffering_slow_link import SCENARIO as SLOW_LINK
from tests.scenarios.test_reuseport_stall_herd import SCENARIO as HERD
from tests.scenarios.test_reuseport_stall_protocol import SCENARIO as PROTOCOL
from tests.scenarios.test_softirq_steering import SCENARIO as STEERING
from tests.scenarios.test_tuned_nginx import SCENARIO as TUNED
from tests.scenarios.test_upstream_keepalive_distance import SCENARIO as DISTANCE
from tests.scenarios.test_worker_connections import SCENARIO as WORKER_CONNECTIONS
from tests.scenarios.upstream_keepalive_claims import SCENARIO as KEEPALIVE

LEAGUE: Final = League().scenario()
QUALITY: Final = NetworkQuality(network=BARE, grid=CORNERS).scenario()
STALLING: Final = ReuseportStall(default_rmem=(4096, 131072, 6291456)).scenario()

EVERY_SCENARIO: Final[tuple[Scenario[Any], ...]] = (
    ALLOCATION,
    BUFFERING,
    CAPACITY,
    DIAGNOSIS,
    DISTANCE,
    HERD,
    KEEPALIVE,
    LEAGUE,
    PROTOCOL,
    QUALITY,
    QUEUE,
    SLOW_LINK,
    STALLING,
    STEERING,
    SYN_QUEUE,
    TUNED,
    WORKER_CONNECTIONS,
)

__all__ = [
    "ALLOCATION",
    "BUFFERING",
    "CAPACITY",
    "DIAGNOSIS",
    "DISTANCE",
    "EVERY_SCENARIO",
    "HERD",
    "KEEPALIVE",
    "LEAGUE",
    "PROTOCOL",
    "QUALITY",
    "QUEUE",
    "SLOW_LINK",
    "STALLING",
    "STEERING",
    "SYN_QUEUE",
    "TUNED",
    "WORKER_CONNECTIONS",
]
