"""TLS settings in tuning lists: curves, records, session caches, tickets and certificates.

Directives: https://nginx.org/en/docs/http/ngx_http_ssl_module.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue import tls_settings_certificates, tls_settings_upstream
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.scenario.scenarios import Scenario

HANDSHAKES: Final = 10
# More than the smallest cache that nginx accepts can hold: eight pages of 4 KiB.
SESSIONS: Final = 72
LARGE: Final = "/1000000.bin"
SMALL: Final = "/1000.bin"
_FORGOTTEN_AFTER_S: Final = 300  # ssl_session_timeout
_FORGETS: Final = "nginx forgets sessions"


def _handshakes(rig: Rig) -> Figures:
    made = rig.client.tls_connect(*rig.at(TLS_PORT), HANDSHAKES, SMALL)
    return {"client_hellos": sum(one.hellos for one in made)}


def _records(rig: Rig) -> Figures:
    made = rig.client.tls_connect(*rig.at(TLS_PORT), 1, LARGE)
    return {"records": made[0].records, "largest_record_bytes": made[0].largest_record_bytes}


def _sessions(version: str) -> Callable[[Rig], Figures]:
    def script(rig: Rig) -> Figures:
        with rig.before(_FORGOTTEN_AFTER_S, _FORGETS):
            rig.client.tls_connect(*rig.at(TLS_PORT), SESSIONS, SMALL, version)
            # The newest session is tried first, so that trying one does not evict the next.
            resumed = rig.client.tls_resume(*rig.at(TLS_PORT), tuple(reversed(range(SESSIONS))), SMALL)
        return {"resumable_sessions": sum(one.resumed for one in resumed)}

    return script


def _resumed(rig: Rig) -> Figures:
    return _resumed_after(rig, lambda: None)


def _resumed_after_reload(rig: Rig) -> Figures:
    return _resumed_after(rig, rig.fresh_workers)


def _resumed_after(rig: Rig, step: Callable[[], None]) -> Figures:
    with rig.before(_FORGOTTEN_AFTER_S, _FORGETS):
        rig.client.tls_connect(*rig.at(TLS_PORT), HANDSHAKES, SMALL)
        step()
        resumed = rig.client.tls_resume(*rig.at(TLS_PORT), tuple(range(HANDSHAKES)), SMALL)
    share = sum(one.resumed for one in resumed) / HANDSHAKES
    return {"resumed_share": share, "lost_share": 1 - share}


def _stapling(rig: Rig) -> Figures:
    tested = rig.test()
    return {"accepted": float(tested.status == 0), "ignored": float('"ssl_stapling" ignored' in tested.text)}


def _tls(directives: str) -> str:
    # TLS 1.3 is on by default only since nginx 1.23.4.
    server = f"server {{ listen {TLS_PORT} ssl; ssl_protocols TLSv1.2 TLSv1.3; {CERTIFICATE} {directives} }}"
    return written_config("", http=server)


_TINY_CACHE: Final = "ssl_session_cache shared:sessions:32k; ssl_session_tickets off;"

ARMS: Final = arms_of(
    [
        Setting(name="secp384r1", config=_tls("ssl_ecdh_curve secp384r1;"), script=_handshakes),
        Setting(name="default-curves", config=_tls(""), script=_handshakes),
        Setting(name="records-4k", config=_tls("ssl_buffer_size 4k;"), script=_records),
        Setting(name="records-16k", config=_tls(""), script=_records),
        Setting(name="cache-tls-1.2", config=_tls(_TINY_CACHE), script=_sessions("1.2")),
        Setting(name="cache-tls-1.3", config=_tls(_TINY_CACHE), script=_sessions("1.3")),
        Setting(name="no-cache", config=_tls(""), script=_resumed),
        Setting(name="no-cache-no-tickets", config=_tls("ssl_session_tickets off;"), script=_resumed),
        Setting(name="reloaded", config=_tls(""), script=_resumed_after_reload),
        Setting(
            name="reloaded-shared",
            config=_tls("ssl_session_cache shared:sessions:1m;"),
            script=_resumed_after_reload,
        ),
        Setting(name="shared", config=_tls("ssl_session_cache shared:sessions:1m;"), script=_resumed),
        Setting(name="no-stapling", config=_tls(""), script=_stapling, starts=False),
        Setting(name="stapling", config=_tls("ssl_stapling on;"), script=_stapling, starts=False),
        *tls_settings_upstream.SETTINGS,
        *tls_settings_certificates.SETTINGS,
    ]
)

CLAIMS: Final = claims_of(
    "tls_settings",
    REQUESTS=tls_settings_upstream.REQUESTS,
    WORKERS=tls_settings_upstream.WORKERS,
    HANDSHAKES=tls_settings_certificates.HANDSHAKES,
)
SCENARIO: Final = Scenario(name="tls_settings", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
