"""All scenarios, as a quick run on an ordinary host with the bare network has them."""

from typing import Any, Final

from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.proof.scenario.scenarios import Scenario

_BY_NAME: Final = {advice.name: advice.scenario(RunConditions()) for advice in every_advice()}
EVERY_SCENARIO: Final[tuple[Scenario[Any], ...]] = tuple(_BY_NAME.values())

BUFFERING: Final = _BY_NAME["proxy_buffering"]
CAPACITY: Final = _BY_NAME["connection_capacity"]
DIAGNOSIS: Final = _BY_NAME["differential_diagnosis"]
DISTANCE: Final = _BY_NAME["upstream_keepalive_distance"]
FAILURES: Final = _BY_NAME["diagnosis_of_failures"]
HERD: Final = _BY_NAME["reuseport_stall_herd"]
KEEPALIVE: Final = _BY_NAME["upstream_keepalive"]
LEAGUE: Final = _BY_NAME["reuseport_stall_league"]
PROTOCOL: Final = _BY_NAME["reuseport_stall_protocol"]
QUALITY: Final = _BY_NAME["network_quality"]
QUEUE: Final = _BY_NAME["listen_queue"]
SLOW_LINK: Final = _BY_NAME["proxy_buffering_slow_link"]
STALLING: Final = _BY_NAME["reuseport_stall"]
STEERING: Final = _BY_NAME["softirq_steering"]
STREAMS: Final = _BY_NAME["streams"]
STREET: Final = _BY_NAME["diagnosis_in_a_street"]
SYN_QUEUE: Final = _BY_NAME["listen_queue_half_open"]
TUNED: Final = _BY_NAME["tuned_nginx"]
WORKER_CONNECTIONS: Final = _BY_NAME["worker_connections"]
