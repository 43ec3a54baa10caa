"""Loading a distant page of many small files: over HTTP/2, and over HTTP/1.1 on six connections, as browsers do.

Neither client uses TLS. The time over HTTP/2 includes the TCP handshake; the time over HTTP/1.1 does not. Over HTTP/2,
all requests are sent at once, and the client's window is as large as a browser's, so only TCP limits the single
connection.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.scenarios import Scenario

FILES: Final = 96
CONNECTIONS: Final = 6
ROUND_TRIP_MS: Final = 30
FAR_MS: Final = 60
LOSS_PCT: Final = 2
_HTTP2_PORT: Final = 8002
_CONTROL: Final = "net.ipv4.tcp_congestion_control"
RENO, BBR = "reno", "bbr"
_FILE: Final = "/16000.bin"
_OK: Final = 200
_AWAY: Final = Impairment(delay_ms=ROUND_TRIP_MS / 2)
CLEAN: Final = NetworkProfile(
    name=f"clients {FAR_MS} ms away",
    summary="round trips count, and what else takes time hardly does",
    client=LinkProfile.both(Impairment(delay_ms=FAR_MS / 2)),
)
LOSSY: Final = NetworkProfile(
    name=f"clients {ROUND_TRIP_MS} ms away, {LOSS_PCT} % loss",
    summary="each packet to the clients may be lost",
    client=LinkProfile(egress=_AWAY, ingress=replace(_AWAY, loss_pct=LOSS_PCT)),
)


def _over_http2(rig: Rig) -> float:
    before_s = rig.measured_s
    seen = rig.client.http2(*rig.at(_HTTP2_PORT), FILES, _FILE)
    rig.must(set(seen) == {_OK}, f"the statuses were {seen}")
    return rig.measured_s - before_s


def _over_http1(rig: Rig) -> float:
    """Load the page on six connections, one request at a time on each; return the seconds that the slowest one takes.

    The time excludes the handshakes: a packet lost in a handshake costs a second (RFC 6298, section 2). With 2 % loss,
    that would affect one page in nine.
    """
    done = rig.flow(Flow(connections=CONNECTIONS, requests=FILES // CONNECTIONS, path=_FILE))
    rig.ok(done, requests=FILES)
    return max(sum(answer.total_s for answer in one.answers) for one in done)


def _loading(load: Callable[[Rig], float], control: str) -> Callable[[Rig], Figures]:
    """Return the script that loads the page; with another congestion control, the trial is void."""

    def script(rig: Rig) -> Figures:
        found = rig.sysctl(_CONTROL)
        rig.must(found == control, f"{_CONTROL} is {found}, not {control}")
        return {"page_s": load(rig)}

    return script


def _setting(protocol: str, control: str, network: str) -> Setting:
    load = {"http2": _over_http2, "http1": _over_http1}[protocol]
    # A container may always choose Reno, but others only if the host allows them (tcp_allowed_congestion_control).
    sysctls = {_CONTROL: control} if control == RENO else {}
    name = f"{protocol}-{control}-{network}"
    return Setting(name=name, config=_CONFIG, script=_loading(load, control), sysctls=sysctls)


_CONFIG: Final = written_config("", http=f"server {{ listen {_HTTP2_PORT} http2; }}")
_NETWORKS: Final = {"lossy": LOSSY, "clean": CLEAN}
_SETTINGS: Final = [
    _setting(protocol, control, network)
    for control, network in ((RENO, "lossy"), (RENO, "clean"), (BBR, "lossy"))
    for protocol in ("http2", "http1")
]

ARMS: Final = tuple(replace(arm, network=_NETWORKS[arm.name.rpartition("-")[2]]) for arm in arms_of(_SETTINGS))
CLAIMS: Final = claims_of(
    "http2_loss", FILES=FILES, CONNECTIONS=CONNECTIONS, ROUND_TRIP_MS=ROUND_TRIP_MS, FAR_MS=FAR_MS, LOSS_PCT=LOSS_PCT
)
SCENARIO: Final = Scenario(name="http2_loss", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
