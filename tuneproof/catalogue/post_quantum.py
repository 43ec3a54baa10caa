"""Clients that offer a post-quantum key: their ClientHello needs two packets, and nginx may not support the group.

The clients use OpenSSL 3.5, on a path with an MTU of 1400 bytes, as through a tunnel. Their key share for
X25519MLKEM768 is 1216 bytes long (https://datatracker.ietf.org/doc/draft-ietf-tls-ecdhe-mlkem/).
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.http3 import TlsRequest
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.scenario.scenarios import Scenario

MTU_BYTES: Final = 1400
CLIENTS: Final = 3
_PAUSE_S: Final = 0.3
_SHORTER_MS: Final = 100
_OK: Final = 200


def _hellos(*, post_quantum: bool = True, pause_s: float = 0.0) -> Callable[[Rig], Figures]:
    """Return the script: clients connect one after the other, and send a request each.

    pause_s: the pause between the two halves of each ClientHello, in seconds.
    """
    asked = TlsRequest(post_quantum=post_quantum, mtu_bytes=MTU_BYTES, pause_s=pause_s)

    def script(rig: Rig) -> Figures:
        made = [rig.http3.tls(*rig.tls_endpoint, asked) for _ in range(CLIENTS)]
        return {
            "hello_packets": sum(one.hello_packets for one in made) / CLIENTS,
            "hello_bytes": sum(one.hello_bytes for one in made) / CLIENTS,
            "second_share": sum(one.hellos > 1 for one in made) / CLIENTS,
            "rejected_share": sum(one.status != _OK for one in made) / CLIENTS,
        }

    return script


def _setting(name: str, script: Callable[[Rig], Figures], directives: str = "") -> Setting:
    tls = f"listen {TLS_PORT} ssl; ssl_protocols TLSv1.2 TLSv1.3; {CERTIFICATE} {directives}"
    config = written_config("", http=f"server {{ {tls} location / {{ return 200; }} }}")
    return Setting(name=name, config=config, script=script)


ARMS: Final = arms_of(
    [
        _setting("post-quantum", _hellos()),
        _setting("classic", _hellos(post_quantum=False)),
        _setting("secp384r1", _hellos(), "ssl_ecdh_curve secp384r1;"),
        _setting("halves", _hellos(pause_s=_PAUSE_S)),
        _setting("halves-short-timeout", _hellos(pause_s=_PAUSE_S), f"client_header_timeout {_SHORTER_MS}ms;"),
    ]
)
CLAIMS: Final = claims_of("post_quantum", MTU_BYTES=MTU_BYTES, PAUSE_MS=1000 * _PAUSE_S)
SCENARIO: Final = Scenario(name="post_quantum", arms=ARMS, claims=CLAIMS, backends=(), post_quantum=True)

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
