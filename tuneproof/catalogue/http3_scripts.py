"""Scripts and counts for trials of HTTP/3."""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.reloads_scripts import Action, reload, start_binary, upgrade
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.protocol.http3 import RESET, Http3Connection, Http3Flow
from tuneproof.lab.subject.written_config import TLS_PORT

CLIENTS: Final = 20
REQUESTS: Final = 3
DOWNLOADS: Final = 5
NEW_CLIENTS: Final = 40
BURST: Final = 150
HUGE_BUFFER_BYTES: Final = 64 * 2**20
SMALL_BUFFER_BYTES: Final = 64 * 2**10
_DEFAULT_BUFFER_BYTES: Final = 212_992  # net.core.rmem_default; on older kernels also rmem_max, unless raised
STREAMS: Final = 30
STRANGERS: Final = 10
FILE_MB: Final = 4
PAGE: Final = "/page"
ORDER: Final = "/order"
_FILE: Final = f"/{FILE_MB}000000.bin"
# The first flight is sent at once, and again after a second (RFC 9002, section 6.2).
_FLIGHTS_S: Final = 1.5
# Several times worker_shutdown_timeout, which is 200 ms in these trials.
_AFTER_TIMEOUT_S: Final = 1.0
# After this time, data sent within one machine has arrived.
_ARRIVES_S: Final = 0.2
_ASKED: Final = 2  # requests with curl: the first response contains Alt-Svc


def pages(*, new_port: bool = False) -> Callable[[Rig], Figures]:
    """Return the script: several clients at the same time send a few requests each."""

    def script(rig: Rig) -> Figures:
        flow = Http3Flow(connections=CLIENTS, requests=REQUESTS, path=PAGE, new_port=new_port)
        made = rig.http3.flow(*rig.tls_endpoint, flow)
        lost = [one for one in made if one.whole < REQUESTS]
        rig.must(not new_port or all(one.whole for one in made), "a connection was lost before its port changed")
        return {
            "lost_connections": len(lost),
            "lost_share": len(lost) / CLIENTS,
            "reset_share": sum(one.end == RESET for one in lost) / max(len(lost), 1),
        }

    return script


def streams(rig: Rig) -> Figures:
    """Request many objects at once on one connection."""
    (made,) = rig.http3.flow(*rig.tls_endpoint, Http3Flow(requests=STREAMS, path="/wait/300", at_once=True))
    rig.must(made.whole == STREAMS, f"{STREAMS - made.whole} of {STREAMS} requests were not answered")
    return {"rejected_share": made.statuses.count(503) / STREAMS}


def handshake(rig: Rig) -> Figures:
    """Count the round trips that a request on a new connection takes."""
    return _trips(rig, rig.http3.round_trips(*rig.tls_endpoint, PAGE))


def resumption(rig: Rig) -> Figures:
    """Count the round trips that a returning client's request takes."""
    return _trips(rig, rig.http3.resumed_round_trips(*rig.tls_endpoint, PAGE))


def _trips(rig: Rig, made: Http3Connection) -> Figures:
    rig.must(made.statuses == (200,), f"the response was {made.statuses}")
    return {"round_trips": made.round_trips, "retries": made.retries}


def forged(rig: Rig) -> Figures:
    """Begin handshakes from addresses that never answer; count the bytes that nginx sends to them."""
    made = rig.http3.forged(*rig.tls_endpoint, STRANGERS, _FLIGHTS_S)
    return {
        "sent_bytes": sum(one.received_bytes for one in made),
        "forged_bytes": sum(one.sent_bytes for one in made),
    }


def download(rig: Rig) -> Figures:
    """Download a file over HTTP/3; count how often nginx hands data to its socket.

    The kernel counts a datagram when it is handed over, before it is split into segments (udp_send_skb() in
    net/ipv4/udp.c).
    """
    before = rig.counters()["Udp.OutDatagrams"]
    (made,) = rig.http3.flow(*rig.tls_endpoint, Http3Flow(path=_FILE))
    rig.must(made.whole == 1, f"the download ended early: {made.end}")
    return {"sends": rig.counters()["Udp.OutDatagrams"] - before}


def tls_download(rig: Rig) -> Figures:
    """Download a file over HTTP/1.1 with TLS; count how often nginx hands data to its socket."""
    flow = Flow(path=_FILE, tls=True)
    calls = rig.calls(lambda: rig.ok(rig.flow(flow, port=TLS_PORT), requests=1))
    return {"sends": calls.made("write", "writev", "send", "sendfile")}


def slow_downloads(action: Callable[[Rig], object], *, downloads: int = DOWNLOADS) -> Callable[[Rig], Figures]:
    """Return the script that counts the downloads that do not survive an action."""

    def script(rig: Rig) -> Figures:
        rig.http3.begin(*rig.tls_endpoint, _FILE, downloads)
        action(rig)
        made = rig.http3.go_on()
        return {"cut_share": sum(not one.whole for one in made) / downloads}

    return script


downloads_beside_reload: Final = slow_downloads(reload)
downloads_beside_upgrade: Final = slow_downloads(upgrade, downloads=3)
downloads_alone: Final = slow_downloads(Rig.rest)


def new_clients(action: Action, *, downloads: int = 0) -> Callable[[Rig], Figures]:
    """Return the script that counts new connections that get no response after an action.

    downloads: the number of downloads that are in progress during the action and afterwards.
    """

    def script(rig: Rig) -> Figures:
        if downloads:
            rig.http3.begin(*rig.tls_endpoint, _FILE, downloads)
        action(rig)
        made = rig.http3.flow(*rig.tls_endpoint, Http3Flow(connections=NEW_CLIENTS, path=PAGE))
        lost = sum(not one.whole for one in made)
        return {"lost_connections": lost, "served_share": 1 - lost / NEW_CLIENTS}

    return script


def _reload_and_time_out(rig: Rig) -> None:
    reload(rig)
    rig.wait(_AFTER_TIMEOUT_S)


new_clients_beside_downloads: Final = new_clients(reload, downloads=DOWNLOADS)
new_clients_after_timeout: Final = new_clients(_reload_and_time_out, downloads=DOWNLOADS)
new_clients_after_reload: Final = new_clients(reload)
new_clients_of_both_masters: Final = new_clients(start_binary)
new_clients_after_upgrade: Final = new_clients(upgrade)


def burst(rig: Rig) -> Figures:
    """Begin handshakes while the worker is stopped; count datagrams that its socket drops (udp_queue_rcv_skb())."""
    before = rig.counters()["Udp.RcvbufErrors"]
    with rig.stopped_workers():
        rig.http3.forged(*rig.tls_endpoint, BURST, _ARRIVES_S)
        dropped = rig.counters()["Udp.RcvbufErrors"] - before
    return {"dropped": dropped}


def buffers(asked_bytes: int = 0) -> Callable[[Rig], Figures]:
    """Return the script that reads the receive buffer of the UDP sockets; ``asked_bytes``: nginx's ``rcvbuf``.

    Linux doubles the size that a program asks for, to allow for bookkeeping, up to twice net.core.rmem_max
    (sk_setsockopt() in net/core/sock.c).
    """
    # Without ``rcvbuf``, a trial shows something only on a host with a raised net.core.rmem_max.
    above = 0 if asked_bytes else _DEFAULT_BUFFER_BYTES

    def script(rig: Rig) -> Figures:
        most = int(rig.sysctl("net.core.rmem_max") or 0)
        rig.must(above < most < HUGE_BUFFER_BYTES, f"net.core.rmem_max is {most} on this host, or not readable")
        granted = min(rig.udp_receive_buffers(TLS_PORT))
        return {"raised": float(granted >= most), "granted": float(granted >= 2 * asked_bytes)}

    return script


def replay(rig: Rig) -> Figures:
    """Send the same request in 0-RTT packets twice; count how often it reaches the application."""
    rig.http3.replay(*rig.tls_endpoint, ORDER, "GET")
    rig.rest()
    passed = [line for line in rig.access_log() if line["uri"] == ORDER and line["upstream_status"] == "200"]
    return {"executions": len(passed), "executed_twice": float(len(passed) > 1)}


def returns_with_curl(rig: Rig) -> Figures:
    """Send two requests with curl; check whether the second request uses HTTP/3."""
    versions = rig.http3.curl(*rig.tls_endpoint, PAGE, _ASKED)
    rig.must("0" not in versions, "curl got no response")
    return {"http3_share": float(versions[-1] == "3")}
