"""TLS settings of tuning lists: curves, records, session caches and tickets.

Directives: https://nginx.org/en/docs/http/ngx_http_ssl_module.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Count, Setting, arms_of, both_ways, more, usual
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.scenarios import Scenario

HANDSHAKES: Final = 10
# The smallest cache that nginx takes is full long before: eight pages of 4 KiB.
SESSIONS: Final = 72
LARGE: Final = "/1000000.bin"
SMALL: Final = "/1000.bin"


def _handshakes(rig: Rig) -> Figures:
    """Make handshakes; count the ClientHellos of each."""
    made = rig.tls_connect(HANDSHAKES, port=TLS_PORT, path=SMALL)
    return {"client_hellos": sum(one.hellos for one in made)}


def _records(rig: Rig) -> Figures:
    """Download a file; count the records that it comes in."""
    made = rig.tls_connect(1, port=TLS_PORT, path=LARGE)
    return {"records": made[0].records, "largest_record_bytes": made[0].largest_record_bytes}


def _sessions(version: str) -> Callable[[Rig], Figures]:
    """Return the script that makes many sessions and then tries to go on with each."""

    def script(rig: Rig) -> Figures:
        rig.tls_connect(SESSIONS, port=TLS_PORT, path=SMALL, version=version)
        # The youngest first: what is tried must not have been pushed out by trying.
        resumed = rig.tls_resume(range(SESSIONS - 1, -1, -1), port=TLS_PORT, path=SMALL)
        return {"resumable_sessions": sum(one.resumed for one in resumed)}

    return script


def _resumed(rig: Rig) -> Figures:
    """Go on with sessions that have just been made."""
    rig.tls_connect(HANDSHAKES, port=TLS_PORT, path=SMALL)
    resumed = rig.tls_resume(range(HANDSHAKES), port=TLS_PORT, path=SMALL)
    share = sum(one.resumed for one in resumed) / HANDSHAKES
    return {"resumed_share": share, "lost_share": 1 - share}


def _resumed_after_reload(rig: Rig) -> Figures:
    """Go on with sessions after a reload."""
    rig.tls_connect(HANDSHAKES, port=TLS_PORT, path=SMALL)
    rig.fresh_workers()
    resumed = rig.tls_resume(range(HANDSHAKES), port=TLS_PORT, path=SMALL)
    share = sum(one.resumed for one in resumed) / HANDSHAKES
    return {"resumed_share": share, "lost_share": 1 - share}


def _stapling(rig: Rig) -> Figures:
    """Let nginx test the configuration, and look for what it says of stapling."""
    said = rig.test()
    return {"accepted": float(said.status == 0), "ignored": float('"ssl_stapling" ignored' in said.text)}


def _tls(directives: str) -> str:
    # TLS 1.3 is on by default since nginx 1.23.4 only.
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
    ]
)

CLAIMS: Final = (
    more(
        "secp384r1_costs_a_round_trip",
        "ssl_ecdh_curve secp384r1 costs today's clients a second ClientHello, one more round trip per handshake",
        source='copied from "strong TLS" lists: ssl_ecdh_curve secp384r1',
        arms=("secp384r1", "default-curves"),
        count=Count(figure="client_hellos", what="ClientHellos of a handshake"),
        threshold=1.5,
        why="a second ClientHello in every handshake makes twice as many; half as many again says that most "
        "handshakes take the round trip",
        line="ssl_ecdh_curve secp384r1;",
    ),
    more(
        "buffer_4k_makes_more_records",
        "ssl_buffer_size 4k splits a large file into at least three times as many TLS records",
        source="ingress-nginx's default: ssl_buffer_size 4k",
        arms=("records-4k", "records-16k"),
        count=Count(figure="records", what="TLS records of a file of 1 MB"),
        threshold=3.0,
        why="the sentence says three times; four would be the ratio of 16 KiB to 4 KiB",
        line="ssl_buffer_size 4k;",
    ),
    more(
        "tls_1_3_halves_the_session_cache",
        "With tickets off, a session cache holds at most half as many sessions of TLS 1.3 as of TLS 1.2",
        source="h5bp, nginxconfig.io: ssl_session_cache shared:SSL:10m for 40000 sessions, ssl_session_tickets off",
        arms=("cache-tls-1.2", "cache-tls-1.3"),
        count=Count(figure="resumable_sessions", what="sessions that can be resumed"),
        why="the sentence says half; whoever sized the cache by the number in its comment needs twice the memory",
        line="ssl_session_cache shared:SSL:10m; (40000 sessions)",
    ),
    *both_ways(
        "sessions_resume_without_a_cache",
        "Sessions resume without any ssl_session_cache, thanks to tickets, which are on by default",
        control=(
            "sessions_resume_without_cache_and_tickets",
            "Sessions resume even without a cache and without tickets",
        ),
        source=f"{COPIED}: ssl_session_cache, so that sessions are resumed at all",
        arm="no-cache",
        turned_by="no-cache-no-tickets",
        figure="resumed_share",
        what="trials in which more than half of the connections are resumed",
        line="ssl_session_cache shared:SSL:10m;",
    ),
    usual(
        "tickets_survive_a_reload",
        "Tickets can be resumed after a reload",
        source="h5bp: tickets off, since a restart resets their keys",
        arm="reloaded",
        turned_by="no-cache",
        figure="resumed_share",
        what="trials in which more than half of the connections are resumed",
        expected=Verdict.REFUTED,
        line="ssl_session_tickets on;",
    ),
    usual(
        "tickets_are_lost_in_a_reload_with_a_shared_cache",
        "Tickets are lost in a reload even beside a shared session cache",
        source="h5bp: tickets off, since their keys are not rotated and a restart resets them",
        arm="reloaded-shared",
        turned_by="shared",
        figure="lost_share",
        what="trials in which fewer than half of the connections are resumed",
        expired_since="1.23.2",
        expired_reason="the keys of tickets lie in the shared session cache, and are rotated",
        line="ssl_session_tickets off;",
    ),
    usual(
        "stapling_needs_a_responder",
        "ssl_stapling on is ignored for certificates without an OCSP responder, such as Let's Encrypt's",
        source=f"{COPIED}: ssl_stapling on, for faster handshakes",
        arm="stapling",
        turned_by="no-stapling",
        figure="ignored",
        what="trials in which nginx says that it ignores ssl_stapling",
        line="ssl_stapling on;",
    ),
)
SCENARIO: Final = Scenario(name="tls_settings", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
