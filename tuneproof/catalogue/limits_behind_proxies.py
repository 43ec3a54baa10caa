"""limit_req and limit_conn: which clients they count as one, and what happens with full zones and several workers.

The proxy is a server of the same nginx. It takes the client's number from the request and writes X-Forwarded-For, like
a proxy with many clients. Directives: https://nginx.org/en/docs/http/ngx_http_limit_req_module.html,
and the pages of ngx_http_limit_conn_module and ngx_http_realip_module.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.catalogue.limits_behind_proxies_scripts import (
    ADDRESSES,
    BURST,
    CLIENTS,
    LIMIT_CONN,
    WORKERS,
    Newcomers,
    beside_connections,
    by_proxy_protocol,
    flood,
    flood_at_once,
    full_zone,
    one_client,
    visitors,
)
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.scenarios import Scenario

_BY_ADDRESS: Final = "$binary_remote_addr"
# A trial ends before this rate admits another request, so the burst alone decides how many requests are admitted.
_SLOWLY: Final = "1r/m"
_LIMIT: Final = f"limit_req zone=clients burst={BURST} nodelay;"
_FILES: Final = "location / { }"
_MADE_UP: Final = "203.0.113.$arg_n, 192.0.2.1"  # the client's own header, and the address that the proxy added
_TWO_PROXIES: Final = "192.0.2.$arg_c, 198.51.100.7"
_FROM_PROXY: Final = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;"
_FROM_BOTH: Final = f"{_FROM_PROXY} set_real_ip_from 198.51.100.0/24;"
_FROM_EVERYBODY: Final = "set_real_ip_from 0.0.0.0/0; real_ip_header X-Forwarded-For;"
_PREFIX: Final = r'map $remote_addr $prefix { default $remote_addr; "~^(\w+:\w+:\w+:\w+):" $1; }'
_LIMIT_CONN: Final = f"limit_conn clients {LIMIT_CONN}; {_FILES}"


def _zone(key: str = _BY_ADDRESS, rate: str = _SLOWLY, size: str = "1m") -> str:
    return f"limit_req_zone {key} zone=clients:{size} rate={rate};"


def _proxied(forwarded_for: str, real_ip: str = "", zone: str = _zone()) -> str:
    """Return the configuration of a proxy that sends this X-Forwarded-For, and of the limiting server behind it."""
    limited = f"server {{ listen 127.0.0.1:9000; {real_ip} {_LIMIT} {_FILES} }}"
    proxy = f'location / {{ proxy_set_header X-Forwarded-For "{forwarded_for}"; proxy_pass http://127.0.0.1:9000; }}'
    return written_config(proxy, http=f"{zone} {limited}")


def _direct(server: str, zone: str = _zone(), *, listen: str = "", workers: int = 1) -> str:
    return written_config(f"{server} {_FILES}", http=zone, listen=listen, workers=str(workers))


def _at_once(limit: str) -> str:
    return _direct(f"limit_req zone=clients {limit};", _zone(rate="20r/s"), listen="deferred")


_EACH_CLIENT: Final = "192.0.2.$arg_c"
_EACH_ADDRESS: Final = "10.0.$arg_c.$arg_n"
_ONE_NETWORK: Final = "2001:db8:0:1::$arg_n"
_CONN_ZONE: Final = f"limit_conn_zone {_BY_ADDRESS} zone=clients:1m;"

ARMS: Final = arms_of(
    [
        Setting(name="behind-proxy", config=_proxied(_EACH_CLIENT), script=visitors),
        Setting(name="behind-proxy-real-ip", config=_proxied(_EACH_CLIENT, _FROM_PROXY), script=visitors),
        Setting(
            name="header-as-key", config=_proxied(_MADE_UP, zone=_zone("$http_x_forwarded_for")), script=one_client
        ),
        Setting(
            name="trusts-proxy", config=_proxied(_MADE_UP, f"{_FROM_PROXY} real_ip_recursive on;"), script=one_client
        ),
        Setting(
            name="trusts-everybody-recursive",
            config=_proxied(_MADE_UP, f"{_FROM_EVERYBODY} real_ip_recursive on;"),
            script=one_client,
        ),
        Setting(name="trusts-everybody", config=_proxied(_MADE_UP, _FROM_EVERYBODY), script=one_client),
        Setting(name="two-proxies", config=_proxied(_TWO_PROXIES, _FROM_BOTH), script=visitors),
        Setting(
            name="two-proxies-recursive",
            config=_proxied(_TWO_PROXIES, f"{_FROM_BOTH} real_ip_recursive on;"),
            script=visitors,
        ),
        Setting(name="proxy-protocol", config=_direct(_LIMIT, listen="proxy_protocol"), script=by_proxy_protocol),
        Setting(
            name="proxy-protocol-real-ip",
            # The client's container is the load balancer; its address is known only when the lab runs.
            config=_direct(
                f"set_real_ip_from 0.0.0.0/0; real_ip_header proxy_protocol; {_LIMIT}", listen="proxy_protocol"
            ),
            script=by_proxy_protocol,
        ),
        Setting(name="ipv6-address", config=_proxied(_ONE_NETWORK, _FROM_PROXY), script=one_client),
        Setting(
            name="ipv6-prefix",
            config=_proxied(_ONE_NETWORK, _FROM_PROXY, f"{_PREFIX} {_zone('$prefix')}"),
            script=one_client,
        ),
        Setting(name="nodelay", config=_at_once("burst=10 nodelay"), script=flood_at_once),
        Setting(name="delayed", config=_at_once("burst=10"), script=flood_at_once),
        Setting(name="no-burst", config=_at_once(""), script=flood_at_once),
        Setting(
            name="four-workers",
            config=_direct(_LIMIT, listen="reuseport", workers=WORKERS),
            script=flood,
            workers=WORKERS,
        ),
        Setting(name="one-worker", config=_direct(_LIMIT), script=flood),
        Setting(
            name="four-times-the-burst",
            config=_direct(f"limit_req zone=clients burst={WORKERS * (BURST + 1) - 1} nodelay;"),
            script=flood,
        ),
        Setting(
            name="zone-32k",
            config=_proxied(_EACH_ADDRESS, _FROM_PROXY, _zone(size="32k")),
            script=full_zone(Newcomers.WITH_OTHER_ADDRESSES),
        ),
        Setting(
            name="zone-1m",
            config=_proxied(_EACH_ADDRESS, _FROM_PROXY, _zone(size="1m")),
            script=full_zone(Newcomers.WITH_OTHER_ADDRESSES),
        ),
        Setting(
            name="zone-32k-uri",
            config=_proxied(_EACH_ADDRESS, _FROM_PROXY, _zone("$request_uri", size="32k")),
            script=full_zone(Newcomers.WITH_LONG_URIS),
        ),
        Setting(
            name="idle-connections",
            config=written_config(_LIMIT_CONN, http=_CONN_ZONE),
            script=beside_connections(reading=False),
        ),
        Setting(
            name="downloads",
            config=written_config(_LIMIT_CONN, http=_CONN_ZONE),
            script=beside_connections(reading=True),
        ),
        Setting(
            name="limited-return",
            config=written_config(f'{_LIMIT} location / {{ return 200 "ok"; }}', http=_zone()),
            script=one_client,
        ),
        Setting(name="limited-file", config=_direct(_LIMIT), script=one_client),
    ]
)

CLAIMS: Final = claims_of(
    "limits_behind_proxies",
    CLIENTS=CLIENTS,
    BURST=BURST,
    WORKERS=WORKERS,
    ADDRESSES=ADDRESSES,
    LIMIT_CONN=LIMIT_CONN,
)
SCENARIO: Final = Scenario(name="limits_behind_proxies", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO, headlines=("limit_behind_a_proxy_hits_everybody",))
