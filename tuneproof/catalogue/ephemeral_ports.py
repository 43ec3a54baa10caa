"""Local ports for connections to the upstream: the number of requests for which they suffice, and how to raise it.

If nginx asks the upstream for a keepalive connection but does not keep it, nginx closes first: its port is in TIME-WAIT
for a minute (TCP_TIMEWAIT_LEN in include/net/tcp.h), and without tcp_tw_reuse no other connection to that address and
port can use it. ip_local_port_range, tcp_tw_reuse: https://docs.kernel.org/networking/ip-sysctl.html.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.scenarios import Scenario

PORTS: Final = 32
ASKED: Final = 3 * PORTS
PEER_PORT: Final = 9001
_FIRST: Final = 40000
_BITS: Final = 8

_PEER: Final = f'server {{ listen {PEER_PORT}; location / {{ return 200 "ok"; }} }}'
_REUSE: Final = 'proxy_http_version 1.1; proxy_set_header Connection "";'
# Half of the requests have an even number.
_HALVES: Final = "map $uri $half { ~[02468]$ 1; default 2; }"


def _ask(rig: Rig) -> Figures:
    """Send requests one after the other, to an address of the peer that no earlier trial used."""
    pid = rig.workers()[0].pid
    done = rig.flow(Flow(requests=ASKED, path=f"/{pid >> _BITS & 255}.{pid & 255}/{{n}}"))
    answered, failed = statuses(done, 200), statuses(done, 502)
    rig.must(answered + failed == ASKED, f"{answered} 200s and {failed} 502s for {ASKED} requests")
    # EADDRNOTAVAIL; its text depends on the C library.
    refused = rig.error_log().count("(99: ")
    rig.must(refused == failed, f"{failed} 502s, but {refused} lines about a missing address in the error log")
    return {"answered": answered, "failed": failed}


def _passed(last: str = "1", directives: str = "") -> str:
    return written_config(
        f"location ~ ^/(?<net>[0-9.]+)/ {{ proxy_pass http://127.$net.{last}:{PEER_PORT}; {_REUSE} {directives} }}",
        http=f"{_HALVES} {_PEER}",
    )


def _setting(name: str, config: str, ports: int = PORTS) -> Setting:
    return Setting(
        name=name,
        config=config,
        script=_ask,
        sysctls={
            "net.ipv4.ip_local_port_range": f"{_FIRST} {_FIRST + ports - 1}",
            # With the default of 2, new connections over loopback may reuse a port in TIME-WAIT after a second.
            "net.ipv4.tcp_tw_reuse": "0",
        },
    )


ARMS: Final = arms_of(
    [
        _setting("no-keepalive", _passed()),
        _setting("twice-the-range", _passed(), 2 * PORTS),
        _setting("two-local-addresses", _passed(directives="proxy_bind 127.0.0.$half;")),
        _setting("two-servers", _passed("$half")),
        _setting(
            "keepalive",
            written_config(
                f"location / {{ proxy_pass http://peer; {_REUSE} }}",
                http=f"{_PEER} upstream peer {{ server 127.0.0.1:{PEER_PORT}; keepalive 16; }}",
            ),
        ),
    ]
)

CLAIMS: Final = claims_of("ephemeral_ports", ASKED=ASKED, PORTS=PORTS)
SCENARIO: Final = Scenario(name="ephemeral_ports", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(scenario=lambda _run: SCENARIO, headlines=("keepalive_spares_ports",))
