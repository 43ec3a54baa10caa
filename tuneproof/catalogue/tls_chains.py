"""How long a distant client waits for a certificate chain: one more round trip if it exceeds TCP's first window.

That window is ten segments (RFC 6928). OpenSSL writes the server's part of a handshake in pieces of 4 KiB. With Nagle's
algorithm, the last piece would wait for the client's acknowledgement, so nginx disables the algorithm before a
handshake, unless tcp_nodelay is off (ngx_http_ssl_handshake in src/http/ngx_http_request.c).
"""

from dataclasses import replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import TLS_PORT, written_config
from tuneproof.proof.scenario.scenarios import Scenario

# A satellite's delay, to which a busy machine adds little; above a second, SYNs would be retransmitted.
ROUND_TRIP_MS: Final = 600
CONNECTIONS: Final = 8
FAR: Final = NetworkProfile(
    name=f"clients {ROUND_TRIP_MS} ms away",
    summary="round trips count, and what else takes time hardly does",
    client=LinkProfile.both(Impairment(delay_ms=ROUND_TRIP_MS / 2)),
)


def fastest(rig: Rig) -> Figures:
    """Make connections with a request each; return the time up to the request on the fastest one, in round trips."""
    done = rig.flow(Flow(connections=CONNECTIONS, close=True, tls=True), port=TLS_PORT)
    rig.ok(done, requests=CONNECTIONS)
    fastest_s = min(one.open_s - one.answers[0].total_s for one in done)
    return {"round_trips": 1000 * fastest_s / ROUND_TRIP_MS}


def _chain(size_kb: int, name: str = "", directives: str = "") -> Setting:
    certificate = f"ssl_certificate /etc/tuneproof/chain-{size_kb}.crt; ssl_certificate_key /etc/tuneproof/tls.key;"
    tls = f"listen {TLS_PORT} ssl; ssl_protocols TLSv1.2 TLSv1.3; {certificate} {directives}"
    config = written_config("", http=f"server {{ {tls} location / {{ return 200; }} }}")
    return Setting(name=name or f"chain-{size_kb}-kb", config=config, script=fastest)


_SETTINGS: Final = (_chain(4), _chain(12), _chain(20), _chain(12, "nodelay-off", "tcp_nodelay off;"))


ARMS: Final = tuple(replace(arm, network=FAR) for arm in arms_of(_SETTINGS))
CLAIMS: Final = claims_of("tls_chains", ROUND_TRIP_MS=ROUND_TRIP_MS)
SCENARIO: Final = Scenario(name="tls_chains", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
