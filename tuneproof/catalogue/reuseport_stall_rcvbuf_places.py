"""The locations in which proxy_socket_rcvbuf and fastcgi_socket_rcvbuf take effect, seen from setsockopt(2) calls.

Directives: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_socket_rcvbuf.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.backends import Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend()
REQUESTS: Final = 20


def _calls(rig: Rig) -> Figures:
    """Count the calls for requests on one connection, after a first request, since nginx makes some calls only once."""
    rig.flow(Flow())
    calls = rig.calls(lambda: rig.flow(Flow(requests=REQUESTS)))
    return {"setsockopt_calls": calls["setsockopt"].made, "connects": calls["connect"].made}


def _setting(name: str, kind: str, *, there: bool) -> Setting:
    # No server here speaks FastCGI, but nginx still connects, and answers at once with an error.
    to = f"http://{BACKEND.upstream}" if kind == "proxy" else "127.0.0.1:9001"
    # So every version of nginx opens a new connection for each request.
    header = "proxy_set_header Connection close;" if kind == "proxy" else ""
    buffer = f"{kind}_socket_rcvbuf 32k;"
    return Setting(
        name=name,
        config=written_config(
            f"location / {{ {kind}_pass {to}; {header} {buffer if there else ''} }}\n"
            f"location /other {{ {kind}_pass {to}; {'' if there else buffer} }}",
            http="server { listen 127.0.0.1:9001; return 200; }",
        ),
        script=_calls,
        counts_calls=True,
    )


SCENARIO: Final = Scenario(
    name="reuseport_stall_rcvbuf_places",
    arms=arms_of(
        [
            _setting("there", "proxy", there=True),
            _setting("elsewhere", "proxy", there=False),
            _setting("fastcgi-there", "fastcgi", there=True),
            _setting("fastcgi-elsewhere", "fastcgi", there=False),
        ]
    ),
    claims=claims_of("reuseport_stall_rcvbuf_places", REQUESTS=REQUESTS),
    backends=(BACKEND,),
)

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO)
