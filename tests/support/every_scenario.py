"""All scenarios, as a quick run on an ordinary host with the bare network has them."""

from typing import Any, Final

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
from tuneproof.catalogue.differential_diagnosis import SCENARIO as DIAGNOSIS
from tuneproof.catalogue.listen_queue import SCENARIO as QUEUE
from tuneproof.catalogue.network_quality import CORNERS, NetworkQuality
from tuneproof.catalogue.proxy_buffering import SCENARIO as BUFFERING
from tuneproof.catalogue.reuseport_stall import ReuseportStall
from tuneproof.catalogue.reuseport_stall_league import League
from tuneproof.catalogue.upstream_keepalive import SCENARIO as KEEPALIVE
from tuneproof.lab.network.profiles import BARE
from tuneproof.proof.scenario.scenarios import Scenario

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
