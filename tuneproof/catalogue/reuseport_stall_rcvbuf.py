"""proxy_socket_rcvbuf against the reuseport stall: a small receive buffer for one location instead of all sockets.

Since 1.31.3 the directive sets SO_RCVBUF on connections to upstreams (ngx_http_upstream.c,
https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_socket_rcvbuf). The kernel doubles the value (socket(7))
and no longer tunes the buffer's size (https://docs.kernel.org/networking/ip-sysctl.html); tcp_rmem limits the size in a
whole network namespace. nginx's documentation of the directive does not mention the stall.
"""

from dataclasses import dataclass
from typing import Final

from tuneproof.catalogue.aa_control import aa_control
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.reuseport_stall import (
    ARTICLE,
    BETWEEN,
    BULK_DOWNLOADS,
    ONE_LOADED,
    RELIEF_THRESHOLD,
    STALL_WARM_UP,
    TCP_RMEM,
    UPSTREAM,
    bulk_rate,
)
from tuneproof.catalogue.reuseport_stall_effects import largest_turn_bytes, turn_bytes
from tuneproof.catalogue.reuseport_stall_league import SMALL_RMEM, league_lines
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Ordered, Scale, ratio
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

SCENARIO: Final = "reuseport_stall_rcvbuf"
SINCE: Final = "1.31.3"
SOURCE: Final = "nginx 1.31.3: proxy_socket_rcvbuf; its documentation does not mention the stall"

DEFAULT: Final = "default"
TWIN: Final = "default-twin"
LARGE: Final = "rcvbuf-128k"
CURE: Final = "rcvbuf-32k"
# The kernel gives 40960 bytes, as tcp_rmem does with the article's value.
SMALLEST: Final = "rcvbuf-20k"
SMALL_TCP_RMEM: Final = "tcp_rmem-40960"
UNBUFFERED: Final = "buffering-off"
LIMITED: Final = "limit-rate"
# Tracing would lower their throughput, which is compared.
DEFAULT_UNTRACED: Final = "default-untraced"
CURE_UNTRACED: Final = "rcvbuf-32k-untraced"
ASKED_BYTES: Final = {LARGE: 128 << 10, CURE: 32 << 10, SMALLEST: 20 << 10}
# What one loop iteration may read: nginx empties each buffer, which may be refilled once while it does so.
BOUND_BYTES: Final = BULK_DOWNLOADS * 2 * 2 * ASKED_BYTES[CURE]
# The thresholds are the same as for tcp_rmem in tuneproof/lines/reuseport_stall.toml and reuseport_stall_league.toml.
BULK_PRICE_THRESHOLD: Final = 2.0
CONCORDANCE_THRESHOLD: Final = 0.75
HALVED_THRESHOLD: Final = 2.0
ALIKE_THRESHOLD: Final = RELIEF_THRESHOLD**0.5
UNTRACED: Final = StallLoad(bulk_per_worker=(BULK_DOWNLOADS, 0), settle_s=0.1, measure_s=0.45)


@dataclass(frozen=True, kw_only=True)
class SocketBuffers:
    """The scenario for one host."""

    largest_rmem_bytes: int  # tcp_rmem's maximum in a new network namespace

    def arms(self) -> tuple[Arm[StallObservation], ...]:
        """Return all arms."""
        return (
            self._arm(DEFAULT, dose=self.largest_rmem_bytes),
            *(
                self._arm(name, f"proxy_socket_rcvbuf {asked >> 10}k", dose=2 * asked)
                for name, asked in ASKED_BYTES.items()
            ),
            self._arm(TWIN),
            self._arm(SMALL_TCP_RMEM, rmem=SMALL_RMEM),
            self._arm(UNBUFFERED, "proxy_buffering off"),
            self._arm(LIMITED, "proxy_limit_rate 25m"),
            self._arm(DEFAULT_UNTRACED, traced=False),
            self._arm(CURE_UNTRACED, "proxy_socket_rcvbuf 32k", traced=False),
        )

    def _arm(
        self, name: str, *directives: str, rmem: str = "", dose: int = 0, traced: bool = True
    ) -> Arm[StallObservation]:
        subject = Subject(
            name=name,
            config=SubjectConfig(upstream=UPSTREAM, location=directives),
            sysctls={TCP_RMEM: rmem} if rmem else {},
            records_turns=traced,
        )
        plan = (BETWEEN if name == LARGE else ONE_LOADED) if traced else UNTRACED
        doses = (Dose(of="largest receive buffer of a connection to the upstream", unit="bytes", amount=dose),)
        return Arm(name=name, subject=subject, plan=plan, doses=doses if dose else ())

    def scenario(self) -> Scenario[StallObservation]:
        """Return the scenario."""
        return Scenario(name=SCENARIO, arms=self.arms(), claims=claims(), warm_up=STALL_WARM_UP)


def claims() -> tuple[Claim[StallObservation], ...]:
    """Return the claims."""
    control = Claim[StallObservation](
        name="stall_is_there",
        sentence="with nginx's defaults, an iteration of the loaded worker reads more than small buffers hold",
        source=ARTICLE,
        arms=(DEFAULT,),
        effect=lambda block: turn_bytes(block[DEFAULT]) / BOUND_BYTES,
        effect_name="bytes that a loop iteration reads, default ÷ two small buffers of each connection",
        scale=Scale.RATIO,
        threshold=HALVED_THRESHOLD,
        why="only an iteration that reads at least twice what small buffers hold needs a remedy",
    )
    doses = (DEFAULT, LARGE, CURE, SMALLEST)
    return (
        Claim(
            name="socket_rcvbuf_restores_loop",
            sentence="With proxy_socket_rcvbuf 32k, a loaded worker reads at most a fifth as much per loop iteration",
            source=SOURCE,
            line="proxy_socket_rcvbuf 32k;",
            arms=(DEFAULT, CURE),
            effect=lambda block: turn_bytes(block[DEFAULT]) / turn_bytes(block[CURE]),
            effect_name="bytes that a loop iteration reads, default ÷ proxy_socket_rcvbuf 32k",
            figure="worker1_turn_bytes_p50",
            scale=Scale.RATIO,
            threshold=RELIEF_THRESHOLD,
            why="if an iteration reads a fifth, a small request waits a fifth as long: users would notice",
            since=SINCE,
            control=control,
        ),
        Claim(
            name="socket_rcvbuf_bounds_an_iteration",
            sentence="With proxy_socket_rcvbuf 32k, no loop iteration reads more than two buffers per connection",
            source="nginx: ngx_event_pipe_read_upstream() reads until the socket is empty",
            line="proxy_socket_rcvbuf 32k;",
            arms=(CURE,),
            effect=lambda block: BOUND_BYTES / largest_turn_bytes(block[CURE]),
            effect_name="two receive buffers of all connections ÷ what the largest loop iteration reads",
            scale=Scale.RATIO,
            threshold=1.0,
            why="the bound follows from the buffer size: each buffer is emptied once and may refill once",
            since=SINCE,
            control=control,
        ),
        Claim(
            name="iterations_follow_socket_rcvbuf",
            sentence="A smaller proxy_socket_rcvbuf makes one loop iteration read less",
            source=SOURCE,
            arms=doses,
            effect=lambda block: Ordered(responses=tuple(turn_bytes(block[dose]) for dose in doses)),
            effect_name="dose pairs in the claimed order",
            scale=Scale.SHARE,
            threshold=CONCORDANCE_THRESHOLD,
            why="three dose pairs in four in order: a setting with more exceptions has no reliable effect",
            form=Form.ORDER,
            since=SINCE,
            control=control,
        ),
        Claim(
            name="socket_rcvbuf_is_tcp_rmem_for_a_location",
            sentence="With proxy_socket_rcvbuf 20k, a loop iteration reads as much as with tcp_rmem = 40960",
            source="socket(7): the kernel doubles SO_RCVBUF, so both give a buffer of 40960 bytes",
            arms=(SMALLEST, SMALL_TCP_RMEM),
            effect=lambda block: ratio(turn_bytes(block[SMALLEST]), turn_bytes(block[SMALL_TCP_RMEM])),
            effect_name="bytes that a loop iteration reads, proxy_socket_rcvbuf 20k ÷ tcp_rmem 40960",
            figure="worker1_turn_bytes_p50",
            scale=Scale.RATIO,
            threshold=ALIKE_THRESHOLD,
            form=Form.SAME,
            why="the square root of the factor from which either of them is a remedy",
            since=SINCE,
            control=control,
        ),
        Claim(
            name="socket_rcvbuf_beats_buffering_off",
            sentence="With proxy_socket_rcvbuf 32k, a loop iteration reads less than with proxy_buffering off",
            source="nginx: ngx_http_upstream_process_non_buffered_request() reads for as long as the client takes it",
            arms=(UNBUFFERED, CURE, LIMITED),
            effect=lambda block: turn_bytes(block[UNBUFFERED]) / turn_bytes(block[CURE]),
            effect_name="bytes that a loop iteration reads, proxy_buffering off ÷ proxy_socket_rcvbuf 32k",
            scale=Scale.RATIO,
            threshold=1.0,
            why="of two remedies for one location, the better one lets an iteration read less",
            since=SINCE,
            control=control,
            table=league_lines,
        ),
        Claim(
            name="socket_rcvbuf_slows_bulk",
            sentence="proxy_socket_rcvbuf 32k halves the throughput of bulk downloads from a nearby upstream",
            source="RFC 7323, section 1.1: the receive window limits throughput to one window per round trip",
            line="proxy_socket_rcvbuf 32k;",
            arms=(DEFAULT_UNTRACED, CURE_UNTRACED),
            effect=lambda block: bulk_rate(block[DEFAULT_UNTRACED]) / bulk_rate(block[CURE_UNTRACED]),
            effect_name="bulk bytes per second, default ÷ proxy_socket_rcvbuf 32k",
            figure="bulk_bytes_per_s",
            scale=Scale.RATIO,
            threshold=BULK_PRICE_THRESHOLD,
            why="losing half of the throughput would make the remedy a bad trade for large files",
            expected=Verdict.REFUTED,
            since=SINCE,
        ),
        aa_control(
            "twins_are_alike",
            "Loop iterations read the same number of bytes in two identical nginx containers",
            arms=(DEFAULT, TWIN),
            value=turn_bytes,
            what="bytes that a loop iteration reads",
            figure="worker1_turn_bytes_p50",
            decides=ALIKE_THRESHOLD,
        ),
    )


ADVICE: Final = Advice(
    scenario=lambda run: SocketBuffers(largest_rmem_bytes=run.host().triple(TCP_RMEM)[2]).scenario(),
    headlines=("socket_rcvbuf_restores_loop",),
    full_depth=("twins_are_alike",),
    timed=True,
)
