"""One cause at a time, built in the lab, and its diagnosis from files: capture, log, counters, sockets.

The causes are those in the sources of reuseport_stall, proxy_buffering and listen_queue (a stalled event loop, a slow
reader, a full accept or SYN queue, packet loss), and a slow backend, which is what people suspect first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.proxy_buffering import SMALLER_BUFFERS, buffered
from tuneproof.catalogue.recorded import Recorded, RecordedObservation
from tuneproof.catalogue.reuseport_stall import ARTICLE as STALL_ARTICLE
from tuneproof.catalogue.reuseport_stall import BULK_DOWNLOADS
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.lab.load.base import Load
from tuneproof.lab.load.connect_storm import ConnectStorm
from tuneproof.lab.load.half_open import HalfOpen
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.load.slow_readers import SlowReaders
from tuneproof.lab.load.stage import CLIENT
from tuneproof.lab.load.stall_load import SMALL_PATH, StallLoad
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.depths import QUICK
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

FILES_BACKEND: Final = Backend()
SLOW_BACKEND: Final = Backend(name="slow", kind=ASYNCIO)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The required share of right diagnoses, and the numbers of trials."""

    right_share: float  # the exact confidence limit of the share must exceed it
    looks: tuple[int, ...]  # the numbers of trials after which to examine the results
    why: str  # the reason for that share


NINE_IN_TEN: Final = Demand(
    right_share=0.9,
    looks=(33, 60),
    why="a diagnosis that is wrong once in ten misleads too often",
)
THREE_IN_FOUR: Final = Demand(
    right_share=0.75,
    looks=(13, 26),
    why="a quick run has no time to show more; a diagnosis that is right three times in four is worth checking first",
)
MOST_THRESHOLD: Final = 0.5
LIE_THRESHOLD: Final = 10.0

SERVES_FILES: Final = Subject(name="files", config=SubjectConfig(upstream=FILES_BACKEND.upstream))
HEALTHY_LOAD: Final = HttpLoad(concurrency=4, requests=200)


def arm(
    name: str,
    subject: Subject,
    load: Load[Any, Any],
    *,
    look_after_s: float | None = 0.3,
    network: NetworkProfile | None = None,
) -> Arm[RecordedObservation]:
    """Return the arm whose load is recorded."""
    logs = subject.config
    plan = Recorded(
        load=load,
        access_log=logs.access_log,
        error_log=bool(logs.error_log_level),
        look_after_s=look_after_s,
    )
    return Arm(name=name, subject=subject, plan=plan, network=network)


HEALTHY: Final = arm("healthy", SERVES_FILES, HEALTHY_LOAD)
DOUBLED_LOAD: Final = (
    "the number of downloads was doubled after trials in which nginx was only a little later than its backend, and the "
    "diagnosis rightly called the stall possible, not found"
)
STALL: Final = arm(
    "event-loop-stall",
    SERVES_FILES,
    # The article's client gives up after a second, this one after half a second: some must give up in a short trial.
    StallLoad(
        bulk_per_worker=(2 * BULK_DOWNLOADS, 2 * BULK_DOWNLOADS),
        fast_rate_hz=40.0,
        fast_timeout_s=0.5,
        settle_s=0.2,
        measure_s=0.7,
    ),
    look_after_s=0.7,
)
SLOW_READER: Final = arm(
    "slow-reader",
    Subject(
        name="large-buffers",
        config=SubjectConfig(
            upstream=FILES_BACKEND.upstream,
            location=(*buffered(SMALLER_BUFFERS), "proxy_max_temp_file_size 0"),
            reuseport=False,
            worker_processes=1,
        ),
    ),
    SlowReaders(readers=2),
    look_after_s=0.5,
)
OVERFLOW: Final = arm(
    "accept-queue-overflow",
    Subject(
        name="short-accept-queue",
        config=SubjectConfig(reuseport=False, backlog=128, access_log=False, worker_connections=4096),
        sysctls={"net.core.somaxconn": "128"},
    ),
    # Long enough for every dropped SYN to be retransmitted, even if the client's timers are late: the workers are
    # stopped, so it is dropped again.
    ConnectStorm(connections=400, wait_s=1.4),
)
SYN_PRESSURE: Final = arm(
    "syn-queue-drop",
    Subject(
        name="short-syn-queue",
        config=SubjectConfig(reuseport=False, backlog=4096, access_log=False),
        sysctls={
            "net.ipv4.tcp_syncookies": "0",
            "net.ipv4.tcp_max_syn_backlog": "128",
            "net.core.somaxconn": "4096",
            "net.ipv4.tcp_synack_retries": "0",
        },
    ),
    HalfOpen(syns=400),
    look_after_s=None,
)
SLOW: Final = arm(
    "backend-slow",
    Subject(name="slow-backend", config=SubjectConfig(upstream=SLOW_BACKEND.upstream)),
    HttpLoad(concurrency=20, requests=40, path="/wait/200"),
)
LOSSY_WAY: Final = Impairment(delay_ms=2.0, loss_pct=3.0)
LOSSY: Final = arm(
    "path-loss",
    SERVES_FILES,
    HttpLoad(concurrency=3, requests=3, path=SMALL_PATH),
    network=NetworkProfile(
        name="client loses 3 %", summary="a bad path", client=LinkProfile(egress=LOSSY_WAY, ingress=LOSSY_WAY)
    ),
)

DIAGNOSES: Final[Mapping[str, tuple[Cause, ...]]] = {
    HEALTHY.name: (),
    STALL.name: (Cause.EVENT_LOOP_STALL,),
    SLOW_READER.name: (Cause.SLOW_READER_BUFFERING,),
    OVERFLOW.name: (Cause.ACCEPT_QUEUE_OVERFLOW,),
    SYN_PRESSURE.name: (Cause.SYN_QUEUE_DROP,),
    SLOW.name: (Cause.BACKEND_SLOW,),
    LOSSY.name: (Cause.PATH_LOSS,),
}


def is_right(observation: RecordedObservation, cause: tuple[Cause, ...]) -> Tally:
    """Return whether this cause is the first one found; if no cause is given, whether none was found."""
    return Tally.yes(when=observation.found[:1] == tuple(item.value for item in cause))


def diagnosis_claim(name: str, arm_name: str, sentence: str, demand: Demand) -> Claim[RecordedObservation]:
    """Return the claim that the files of an arm's trials are enough to recognise a cause."""
    return Claim(
        name=name,
        sentence=sentence,
        source="nginx under high concurrency drops SYNs (2020): where is it lost?",
        arms=(arm_name,),
        effect=lambda block: is_right(block[arm_name], DIAGNOSES[arm_name]),
        effect_name="right diagnoses",
        scale=Scale.SHARE,
        threshold=demand.right_share,
        why=demand.why,
        own_looks=demand.looks,
        exploratory=DOUBLED_LOAD if arm_name == STALL.name else "",
    )


def share_claim(
    name: str, arm_name: str, sentence: str, figure: str, what: str, *, source: str
) -> Claim[RecordedObservation]:
    """Return the claim that a share in the capture is larger under a cause than in healthy traffic."""

    def share(observation: RecordedObservation) -> float:
        value: float | None = getattr(observation, figure)
        if value is None or not observation.flows:
            raise ValueError(f"the capture does not show {figure}")
        return value

    return Claim(
        name=name,
        sentence=sentence,
        source=source,
        arms=(arm_name, HEALTHY.name),
        effect=lambda block: share(block[arm_name]) - share(block[HEALTHY.name]),
        effect_name=f"{what}, {arm_name} - healthy",
        scale=Scale.SHARE,
        threshold=MOST_THRESHOLD,
        why="a sign on half of all connections is visible in any small sample",
    )


def lie(block: Mapping[str, RecordedObservation]) -> float:
    """Return the time of a connect to the backend in a stalled nginx's log ÷ the time in the capture.

    Raises ValueError: The log or the capture lacks it.
    """
    observation = block[STALL.name]
    if observation.log_connect_p90_ms is None or not observation.wire_connect_p90_ms:
        raise ValueError("no connect to the backend was seen in both log and capture")
    return observation.log_connect_p90_ms / observation.wire_connect_p90_ms


def resets(block: Mapping[str, RecordedObservation]) -> Tally:
    """Return whether a RST followed its sender's FIN on connections to a stalled nginx, but not to a healthy one."""
    stalled, healthy = block[STALL.name].clients_answered_with_reset, block[HEALTHY.name].clients_answered_with_reset
    return Tally.yes(when=bool(stalled) and not healthy)


def diagnosis_scenario(demand: Demand) -> Scenario[RecordedObservation]:
    """Return the scenario with this demand on its diagnoses."""
    return Scenario(
        name="differential_diagnosis",
        arms=(HEALTHY, STALL, SLOW_READER, OVERFLOW, SYN_PRESSURE, SLOW, LOSSY),
        claims=(
            diagnosis_claim(
                "healthy_is_healthy", HEALTHY.name, "explain finds nothing wrong in healthy traffic", demand
            ),
            diagnosis_claim(
                "stall_is_told", STALL.name, "explain identifies a stalled event loop from files alone", demand
            ),
            diagnosis_claim(
                "slow_reader_is_told", SLOW_READER.name, "explain identifies a slow reader from files alone", demand
            ),
            diagnosis_claim(
                "overflow_is_told", OVERFLOW.name, "explain identifies a full accept queue from files alone", demand
            ),
            diagnosis_claim(
                "syn_drop_is_told", SYN_PRESSURE.name, "explain identifies a full SYN queue from files alone", demand
            ),
            diagnosis_claim(
                "slow_backend_is_told", SLOW.name, "explain identifies a slow backend from files alone", demand
            ),
            diagnosis_claim("loss_is_told", LOSSY.name, "explain identifies packet loss from files alone", demand),
            Claim(
                name="log_lies_in_stall",
                sentence="In a stall, $upstream_connect_time is at least ten times the connect time on the network",
                source=f"{STALL_ARTICLE}: the clock is cached per loop iteration",
                arms=(STALL.name,),
                effect=lie,
                effect_name="p90 of connects to the backend, by the log ÷ on the wire",
                scale=Scale.RATIO,
                threshold=LIE_THRESHOLD,
                why="at ten times the network's real time, anybody who reads the log blames the network",
            ),
            Claim(
                name="stalled_nginx_sends_to_nobody",
                sentence="A stalled nginx keeps sending after the client's FIN, and the client answers with RST",
                source=f"{STALL_ARTICLE}: data after FIN",
                arms=(STALL.name, HEALTHY.name),
                effect=resets,
                effect_name="pairs of trials with such a connection in the stall and none in healthy traffic",
                scale=Scale.SHARE,
                threshold=MOST_THRESHOLD,
                why="a sign that appears in most cases is worth looking for",
            ),
            share_claim(
                "overflow_repeats_syns",
                OVERFLOW.name,
                "When the accept queue is full, most clients have to retransmit their SYN",
                "syn_repeated_share",
                "connections with a retransmitted SYN",
                source="nginx under high concurrency drops SYNs (2020): SYN retransmitted after 1 s",
            ),
            share_claim(
                "syn_pressure_is_unfinished",
                SYN_PRESSURE.name,
                "When half-open connections fill the SYN queue, most handshakes in the capture never complete",
                "unfinished_share",
                "connections never established",
                source="nginx under high concurrency drops SYNs (2020): ListenDrops rises alone",
            ),
            share_claim(
                "slow_reader_closes_window",
                SLOW_READER.name,
                "A slow reader's closed receive windows are visible in the capture",
                "zero_window_share",
                "connections with a closed receive window",
                source="proxy_buffering can eat all memory (2021): zero windows",
            ),
        ),
        backends=(FILES_BACKEND, SLOW_BACKEND),
        warm_up=HttpLoad(concurrency=4, requests=40),
        beside=(CLIENT,),
    )


SCENARIO: Final = diagnosis_scenario(THREE_IN_FOUR)

ADVICE: Final = Advice(
    scenario=lambda run: diagnosis_scenario(THREE_IN_FOUR if run.depth == QUICK else NINE_IN_TEN),
    # These claims are about explain, not about nginx.
    full_depth=tuple(claim.name for claim in SCENARIO.claims if claim.effect_name == "right diagnoses"),
    timed=True,
)
