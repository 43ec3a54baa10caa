"""TLS to upstreams, and settings that depend on OpenSSL: resumed sessions, post-quantum groups, kernel TLS.

For the first two, nginx is at both ends: the upstream is another server of the same nginx, and the status of its
responses shows what was negotiated.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.counting import Setting
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config

REQUESTS: Final = 20
WORKERS: Final = 4
COPIED_CURVES: Final = "X25519:prime256v1:secp384r1"
# The group's name, or what nginx writes for a group without a name in OpenSSL's list of objects
# (https://www.iana.org/assignments/tls-parameters/tls-parameters.xhtml#tls-parameters-8).
_POST_QUANTUM: Final = "X25519MLKEM768|0x11ec"
_NAMED_GROUP: Final = "X25519MLKEM768:X25519:prime256v1"
_LARGE: Final = "/1000000.bin"
_VERSIONS: Final = "TLSv1.2 TLSv1.3"
_HERE: Final = f"127.0.0.1:{TLS_PORT}"
_BLOCK: Final = "proxy_pass https://encrypted;"
# Each request needs a connection, and so a handshake.
_TO_UPSTREAM: Final = f"proxy_ssl_protocols {_VERSIONS}; proxy_set_header Connection close;"


def _yes_answers(rig: Rig) -> int:
    """Send many requests; return how often the upstream answers 204 (yes). All others must get a 200 (no)."""
    done = rig.flow(Flow(connections=REQUESTS, at_once=1, close=True))
    yes, no = statuses(done, 204), statuses(done, 200)
    rig.must(yes + no == REQUESTS, f"{yes + no} of {REQUESTS} requests were answered by 204 or 200")
    return yes


def _sessions(rig: Rig) -> Figures:
    return {"full_handshakes": REQUESTS - _yes_answers(rig)}


def _groups(rig: Rig) -> Figures:
    yes = _yes_answers(rig)
    return {"classic_handshakes": REQUESTS - yes, "post_quantum_share": yes / REQUESTS}


def _accepted(rig: Rig) -> Figures:
    return {"rejected": float(rig.test().status != 0)}


def _by_kernel(rig: Rig) -> Figures:
    known = rig.sysctl("net.ipv4.tcp_available_ulp") or ""
    rig.must("tls" in known.split(), f"this kernel has no TLS: net.ipv4.tcp_available_ulp is {known!r}")
    return _downloads(rig)


def _downloads(rig: Rig) -> Figures:
    flow = Flow(path=_LARGE, requests=REQUESTS, tls=True)
    calls = rig.calls(lambda: rig.ok(rig.flow(flow, port=TLS_PORT), requests=REQUESTS))
    return {"sent_by_sendfile": float(calls["sendfile"].made >= REQUESTS)}


def _encrypted(
    says_204: str, script: Callable[[Rig], Figures], name: str, *, to: str = _BLOCK, tls: str = "", zone: str = ""
) -> Setting:
    peer = (
        f"server {{ listen {_HERE} ssl; ssl_protocols {_VERSIONS}; {CERTIFICATE} {tls} "
        f"location / {{ if ({says_204}) {{ return 204; }} return 200; }} }}"
    )
    workers = WORKERS if zone else 1
    config = written_config(
        f"location / {{ {to} {_TO_UPSTREAM} }}",
        http=f"upstream encrypted {{ {zone} server {_HERE}; }} {peer}",
        listen="reuseport" if zone else "",
        workers=str(workers),
    )
    return Setting(name=name, config=config, script=script, workers=workers)


def _resuming(name: str, to: str = _BLOCK, *, zone: str = "") -> Setting:
    return _encrypted("$ssl_session_reused = r", _sessions, name, to=to, zone=zone)


def _negotiating(name: str, curves: str) -> Setting:
    return _encrypted(f'$ssl_curve ~ "{_POST_QUANTUM}"', _groups, name, tls=curves)


def _served(name: str, directives: str, script: Callable[[Rig], Figures], *, starts: bool = True) -> Setting:
    server = f"server {{ listen {TLS_PORT} ssl; {CERTIFICATE} {directives} }}"
    config = written_config("", http=server)
    return Setting(name=name, config=config, script=script, starts=starts, counts_calls=starts)


SETTINGS: Final = (
    _resuming("upstream-block"),
    _resuming("upstream-variable", f"set $to {_HERE}; proxy_pass https://$to;"),
    _resuming("upstream-workers", zone="# no zone\n"),
    _resuming("upstream-workers-zone", zone="zone encrypted 64k;"),
    _negotiating("groups-default", ""),
    _negotiating("groups-copied", f"ssl_ecdh_curve {COPIED_CURVES};"),
    _served("group-named", f"ssl_ecdh_curve {_NAMED_GROUP};", _accepted, starts=False),
    _served("groups-older", f"ssl_ecdh_curve {COPIED_CURVES};", _accepted, starts=False),
    _served("kernel-tls", "sendfile on; ssl_conf_command Options KTLS;", _by_kernel),
    _served("no-kernel-tls", "sendfile on;", _downloads),
)
