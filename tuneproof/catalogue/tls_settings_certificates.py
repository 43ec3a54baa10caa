"""The CPU time that a certificate costs, by its key's kind and size, and which of two certificates a client gets."""

from typing import Final

from tuneproof.catalogue.counting import Setting
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config

HANDSHAKES: Final = 50
# Fewer handshakes are enough for the CPU time, which the kernel counts in nanoseconds.
_SIGNATURES: Final = 20
_MS_PER_S: Final = 1000
_NEW: Final = Flow(connections=_SIGNATURES, at_once=1, close=True, tls=True)
# Cipher names contain the certificate's kind in TLS 1.2, but not in TLS 1.3 (RFC 8446, section 1.2).
_NEW_1_2: Final = Flow(connections=HANDSHAKES, at_once=1, close=True, tls=True, tls_version="1.2")


def _run_s(rig: Rig) -> float:
    rig.rest()
    return sum(worker.run_s for worker in rig.workers())


def _cpu(rig: Rig) -> Figures:
    before_s = _run_s(rig)
    rig.ok(rig.flow(_NEW, port=TLS_PORT), requests=_SIGNATURES)
    return {"handshake_cpu_ms": _MS_PER_S * (_run_s(rig) - before_s) / _SIGNATURES}


def _kinds(rig: Rig) -> Figures:
    """Make handshakes, and count those with the RSA certificate; the server answers the others with 204."""
    done = rig.flow(_NEW_1_2, port=TLS_PORT)
    ecdsa, rsa = statuses(done, 204), statuses(done, 200)
    rig.must(ecdsa + rsa == HANDSHAKES, f"{ecdsa + rsa} of {HANDSHAKES} requests were answered by 204 or 200")
    return {"rsa_share": rsa / HANDSHAKES}


def _rsa(bits: int) -> str:
    return f"ssl_certificate /etc/tuneproof/rsa-{bits}.crt; ssl_certificate_key /etc/tuneproof/rsa-{bits}.key;"


def _config(certificates: str, location: str = "return 200;") -> str:
    tls = f"listen {TLS_PORT} ssl; ssl_protocols TLSv1.2 TLSv1.3; {certificates}"
    return written_config("", http=f"server {{ {tls} location / {{ {location} }} }}")


_SAYS_KIND: Final = "if ($ssl_cipher ~ ECDSA) { return 204; } return 200;"

SETTINGS: Final = (
    Setting(name="rsa-4096", config=_config(_rsa(4096)), script=_cpu),
    Setting(name="rsa-2048", config=_config(_rsa(2048)), script=_cpu),
    Setting(name="ecdsa", config=_config(CERTIFICATE), script=_cpu),
    Setting(name="rsa-and-ecdsa", config=_config(_rsa(2048) + CERTIFICATE, _SAYS_KIND), script=_kinds),
    Setting(name="rsa-alone", config=_config(_rsa(2048), _SAYS_KIND), script=_kinds),
)
