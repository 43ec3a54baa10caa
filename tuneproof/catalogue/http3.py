"""HTTP/3: what a listener needs, what interrupts connections, and what the usual directives change.

nginx's documentation: https://nginx.org/en/docs/quic.html; its code: src/event/quic.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.http3_scripts import (
    BURST,
    CLIENTS,
    DOWNLOADS,
    FILE_MB,
    HUGE_BUFFER_BYTES,
    NEW_CLIENTS,
    ORDER,
    PAGE,
    SMALL_BUFFER_BYTES,
    STREAMS,
    buffers,
    burst,
    download,
    downloads_alone,
    downloads_beside_reload,
    downloads_beside_upgrade,
    forged,
    handshake,
    new_clients_after_reload,
    new_clients_after_timeout,
    new_clients_after_upgrade,
    new_clients_beside_downloads,
    new_clients_of_both_masters,
    pages,
    replay,
    resumption,
    returns_with_curl,
    streams,
    tls_download,
)
from tuneproof.lab.subject.written_config import CERTIFICATE, LOG, TLS_PORT, written_config
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
WORKERS: Final = 4
LIMIT: Final = 10

_LIMIT_ZONE: Final = "limit_conn_zone $binary_remote_addr zone=address:1m;"
_ALT_SVC: Final = f"""add_header Alt-Svc 'h3=":{TLS_PORT}"; ma=86400';"""
_REFUSES_EARLY: Final = "if ($ssl_early_data) { return 425; }"


def _http3(directives: str = "", *, listen: str = "reuseport", workers: int = 1, main: str = "") -> str:
    server = (
        f"server {{ listen {TLS_PORT} quic {listen}; listen {TLS_PORT} ssl; {CERTIFICATE} {directives} "
        f'location {PAGE} {{ return 200 "ok"; }} location /wait {{ proxy_pass http://{BACKEND.upstream}; }} }}'
    )
    return written_config("", http=f"{_LIMIT_ZONE} {server}", workers=str(workers), main=main)


def _early(refuses: str = "") -> str:
    order = f"location {ORDER} {{ {LOG} {refuses} proxy_pass http://{BACKEND.upstream}/; }}"
    return _http3(f"ssl_early_data on; {order}")


def _sharing(name: str, workers: int, *, listen: str = "reuseport", new_port: bool = False) -> Setting:
    script = pages(new_port=new_port)
    return Setting(name=name, config=_http3(listen=listen, workers=workers), script=script, workers=workers)


ARMS: Final = arms_of(
    [
        _sharing("no-reuseport-4-workers", WORKERS, listen=""),
        _sharing("reuseport-4-workers", WORKERS),
        _sharing("no-reuseport-1-worker", 1, listen=""),
        _sharing("new-port-4-workers", WORKERS, new_port=True),
        _sharing("new-port-1-worker", 1, new_port=True),
        Setting(name="retry", config=_http3("quic_retry on;"), script=handshake),
        Setting(name="no-retry", config=_http3(), script=handshake),
        Setting(name="forged-retry", config=_http3("quic_retry on;"), script=forged),
        Setting(name="forged-no-retry", config=_http3(), script=forged),
        Setting(name="no-gso", config=_http3(), script=download),
        Setting(name="gso", config=_http3("quic_gso on;"), script=download),
        Setting(name="tls", config=_http3(), script=tls_download, counts_calls=True),
        Setting(name="downloads-reload", config=_http3(), script=downloads_beside_reload),
        Setting(name="downloads-no-reload", config=_http3(), script=downloads_alone),
        Setting(name="new-clients-reload-downloads", config=_http3(), script=new_clients_beside_downloads),
        Setting(name="new-clients-reload", config=_http3(), script=new_clients_after_reload),
        Setting(
            name="new-clients-shutdown-timeout",
            config=_http3(main="worker_shutdown_timeout 200ms;"),
            script=new_clients_after_timeout,
        ),
        Setting(name="new-clients-two-masters", config=_http3(), script=new_clients_of_both_masters),
        Setting(name="new-clients-upgrade", config=_http3(), script=new_clients_after_upgrade),
        Setting(name="downloads-upgrade", config=_http3(), script=downloads_beside_upgrade),
        Setting(name="default-rcvbuf", config=_http3(), script=burst),
        Setting(name="rcvbuf-1m", config=_http3(listen="reuseport rcvbuf=1m"), script=burst),
        Setting(name="no-rcvbuf", config=_http3(), script=buffers()),
        Setting(name="rcvbuf-64k", config=_http3(listen="reuseport rcvbuf=64k"), script=buffers(SMALL_BUFFER_BYTES)),
        Setting(name="rcvbuf-64m", config=_http3(listen="reuseport rcvbuf=64m"), script=buffers(HUGE_BUFFER_BYTES)),
        Setting(name="no-early-data", config=_http3(), script=resumption),
        Setting(name="early-data", config=_http3("ssl_early_data on;"), script=resumption),
        Setting(name="replayed", config=_early(), script=replay),
        Setting(name="replayed-425", config=_early(_REFUSES_EARLY), script=replay),
        Setting(name="no-alt-svc", config=_http3(), script=returns_with_curl),
        Setting(name="alt-svc", config=_http3(_ALT_SVC), script=returns_with_curl),
        Setting(name="limit-conn-10", config=_http3(f"limit_conn address {LIMIT};"), script=streams),
        Setting(name="no-limit-conn", config=_http3(), script=streams),
    ]
)

CLAIMS: Final = claims_of(
    "http3",
    WORKERS=WORKERS,
    CLIENTS=CLIENTS,
    DOWNLOADS=DOWNLOADS,
    STREAMS=STREAMS,
    LIMIT=LIMIT,
    FILE_MB=FILE_MB,
    NEW_CLIENTS=NEW_CLIENTS,
    BURST=BURST,
)
SCENARIO: Final = Scenario(name="http3", arms=ARMS, claims=CLAIMS, backends=(BACKEND,), http3=True)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
