"""Directives in old tuning lists that were removed, are obsolete, or repeat the default.

nginx's change log: https://nginx.org/en/CHANGES.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.scenario.scenarios import Scenario

REQUESTS: Final = 20
SMALL: Final = "/1000.bin"
LARGE: Final = "/1000000.bin"

_LISTEN: Final = f"server {{ listen {TLS_PORT} ssl; {CERTIFICATE} %s }}"


def _tested(rig: Rig) -> Figures:
    tested = rig.test()
    warned = any(word in tested.text for word in ("[warn]", "[emerg]", "ignored"))
    return {"accepted": float(tested.status == 0), "without_a_word": float(tested.status == 0 and not warned)}


def _calls(rig: Rig) -> Figures:
    """Count the system calls for a small file and, for a large file, only the calls that read it."""
    for path in (SMALL, LARGE):
        rig.flow(Flow(path=path))
    small = rig.calls(lambda: rig.flow(Flow(path=SMALL, requests=REQUESTS)))
    large = rig.calls(lambda: rig.flow(Flow(path=LARGE, requests=REQUESTS)))
    return {"calls": small.made(), "reads": large.made("pread", "read")}


def _test(name: str, *, http: str = "", server: str = "") -> Setting:
    return Setting(name=name, config=written_config(server, http=http), script=_tested, starts=False)


def _counting(name: str, http: str, *, events: str = "") -> Setting:
    config = written_config("", http=http, events=f"worker_connections 1024; {events}")
    return Setting(name=name, config=config, script=_calls, counts_calls=True)


_COPIED: Final = (
    "tcp_nodelay on; postpone_output 1460; gzip_disable msie6; types_hash_max_size 2048; "
    "client_body_buffer_size 16k; server_names_hash_bucket_size 64; keepalive_timeout 75;"
)

ARMS: Final = arms_of(
    [
        _test("ssl-on", http=f"server {{ listen {TLS_PORT}; ssl on; {CERTIFICATE} }}"),
        _test("listen-http2", http=f"server {{ listen {TLS_PORT} ssl http2; {CERTIFICATE} }}"),
        _test("http2-push", http=_LISTEN % "http2_push_preload on;"),
        _test("spdy", http=_LISTEN % "spdy_headers_comp 1;"),
        _test("tcp-fastopen", server="tcp_fastopen on;"),
        _test("nothing-old"),
        _counting("copied-defaults", _COPIED, events="use epoll;"),
        _counting("defaults", ""),
        _counting("other-calls", "sendfile on; tcp_nopush on;"),
        _counting("one-output-buffer", "output_buffers 1 32k;"),
        _counting("larger-output-buffers", "output_buffers 2 128k;"),
    ]
)


CLAIMS: Final = claims_of("config_rot")
SCENARIO: Final = Scenario(name="config_rot", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
