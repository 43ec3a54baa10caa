"""Kernel settings that nginx guides recommend: to shorten TIME-WAIT, and to open connections faster.

Settings: https://docs.kernel.org/networking/ip-sysctl.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Setting, arms_of, claims_of
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step
from tuneproof.lab.protocol.observer import SocketCounts
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.scenario.scenarios import Scenario

CLOSED: Final = 100
HALF_CLOSED: Final = 20
# Sockets of a trial stay for a minute, so the next trial uses another port.
PORTS: Final = tuple(range(8100, 8140))
LATER_S: Final = 1.4
LEFT: Final = {"time_wait": "TIME-WAIT", "fin_wait_2": "FIN-WAIT-2"}
FAST_OPENS: Final = 20
_TIME_WAIT_S: Final = 60

_CLOSING: Final = written_config(
    "", http="server { " + " ".join(f"listen {port};" for port in PORTS) + ' location / { return 200 "ok"; } }'
)


def _closed() -> Flow:
    """Return connections that nginx closes first: the client waits for the close."""
    return Flow(connections=CLOSED, at_once=10, close=True, then=(Step.AWAIT_END,))


def _closed_by_nginx(rig: Rig) -> Figures:
    """Let nginx close connections first, while some clients keep their end open; count the sockets a little later."""
    port = rig.fresh_port(PORTS)
    with rig.standing(Flow(connections=HALF_CLOSED, close=True, then=(Step.STAY,)), _closed(), port=port):
        rig.wait_until(lambda: not rig.sockets(port).local.get("ESTAB", 0), "did not close all connections")
        rig.wait(LATER_S)
        left = rig.sockets(port)
    return _left(left)


def _left(sockets: SocketCounts) -> Figures:
    return {name: sockets.local.get(state, 0) for name, state in LEFT.items()}


def _only_closed_by_nginx(rig: Rig) -> Figures:
    return _left_later(rig, close=True)


def _closed_by_clients(rig: Rig) -> Figures:
    """Let clients close their connections first, so that TIME-WAIT is on their side."""
    return _left_later(rig, close=False)


def _left_later(rig: Rig, *, close: bool) -> Figures:
    port = rig.fresh_port(PORTS)
    with rig.before(_TIME_WAIT_S, "the kernel forgets TIME-WAIT"):
        rig.flow(_closed() if close else Flow(connections=CLOSED, at_once=10), port=port)
        rig.wait(LATER_S)
        left = rig.sockets(port)
    return _left(left)


def _has(sysctl: str) -> Callable[[Rig], Figures]:
    return lambda rig: {"has_setting": float(rig.sysctl(sysctl) is not None)}


def _fast_open(rig: Rig) -> Figures:
    """Let one client connect repeatedly and send its request in the SYN if the server accepts that."""
    before = rig.counters()["TcpExt.TCPFastOpenPassive"]
    done = rig.flow(Flow(connections=FAST_OPENS + 1, at_once=1, close=True, fast_open=True))
    answered = rig.ok(done, requests=FAST_OPENS + 1)
    used = rig.counters()["TcpExt.TCPFastOpenPassive"] - before
    # The first connection requests the cookie.
    return {"fast_open_share": min(used / FAST_OPENS, 1.0), "ok": answered}


_FIN_TIMEOUT: Final = "net.ipv4.tcp_fin_timeout"
_OK: Final = 'location / { return 200 "ok"; }'


ARMS: Final = arms_of(
    [
        Setting(name="fin-timeout-60", config=_CLOSING, script=_closed_by_nginx, sysctls={_FIN_TIMEOUT: "60"}),
        Setting(name="fin-timeout-1", config=_CLOSING, script=_closed_by_nginx, sysctls={_FIN_TIMEOUT: "1"}),
        Setting(
            name="tw-reuse-1", config=_CLOSING, script=_only_closed_by_nginx, sysctls={"net.ipv4.tcp_tw_reuse": "1"}
        ),
        Setting(name="none-closed", config=_CLOSING, script=_closed_by_clients, sysctls={_FIN_TIMEOUT: "1"}),
        Setting(name="tw-recycle", config=written_config(_OK), script=_has("net.ipv4.tcp_tw_recycle")),
        Setting(name="tw-reuse", config=written_config(_OK), script=_has("net.ipv4.tcp_tw_reuse")),
        Setting(name="fastopen", config=written_config(_OK, listen="fastopen=256"), script=_fast_open),
        Setting(
            name="fastopen-sysctl-3",
            config=written_config(_OK, listen="fastopen=256"),
            script=_fast_open,
            sysctls={"net.ipv4.tcp_fastopen": "3"},
        ),
    ]
)

CLAIMS: Final = claims_of("kernel_settings", LATER_S=LATER_S)
SCENARIO: Final = Scenario(name="kernel_settings", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
