"""Evidence from a healthy nginx, and variants with faults."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict, Diagnosis
from tuneproof.explain.diagnosis.render import headline, rows
from tuneproof.explain.parse.access_log.log_summary import LogSummary, WorkerSummary, summarise
from tuneproof.explain.parse.access_log.standstills import Standstills
from tuneproof.explain.parse.access_log.upstream_times import PathTimes, ServerConnects
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.held import HeldRequests
from tuneproof.explain.parse.capture.quic import QuicService
from tuneproof.explain.parse.capture.records import Endpoint, Side
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot
from tuneproof.explain.parse.error_log import ErrorLog
from tuneproof.explain.parse.figures import Distribution, distribution
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.machine import FullDisks, MachineCpu
from tuneproof.explain.parse.packet_losses import PacketLoss
from tuneproof.explain.parse.processes import status
from tuneproof.explain.parse.processes.pidstat import PidstatSample
from tuneproof.explain.parse.processes.schedstat import Schedstat
from tuneproof.explain.parse.processes.status import ProcessStatus
from tuneproof.explain.parse.sockets.table import SocketAddress, SocketEntry, SocketTable, Unread, socket_table

FRONT: Final = Endpoint(address="10.0.0.2", port=8000)
BACK: Final = Endpoint(address="10.0.1.3", port=9000)
_REQUESTS: Final = 200


def spread(
    fast_s: float, slow_s: float | None = None, *, slow_share: float = 0.2, count: int = _REQUESTS
) -> Distribution:
    slow = round(slow_share * count)
    made = distribution([fast_s] * (count - slow) + [fast_s if slow_s is None else slow_s] * slow)
    assert made is not None
    return made


def service(server: Endpoint = FRONT, **values: Any) -> ServiceSummary:
    """Return the summary of 200 connections with one request each, on a busy but healthy host."""
    healthy: dict[str, Any] = {
        "server": server,
        "flows": _REQUESTS,
        "handshakes": {"complete": _REQUESTS},
        "handshake_s": spread(0.0001, 0.02),
        "syn_to_synack_s": spread(0.00005),
        "synack_to_ack_s": spread(0.00005),
        "from_client": Side(packets=4000, data_segments=_REQUESTS, duplicate_acks=3, resets=10),
        "from_server": Side(packets=8000, data_segments=6000, retransmitted_segments=2, out_of_order_segments=5),
        "requests": _REQUESTS,
        "response_s": spread(0.004, 0.03),
    }
    return ServiceSummary(**{**healthy, **values})


def repeated_syns(count: int = 40, **values: Any) -> dict[str, Any]:
    """Return the fields of a service to which clients sent SYNs again after a second."""
    return {"syn_retransmitted_flows": count, "syn_retransmission_delay_s": spread(1.02, count=count), **values}


def lossy(share: float = 0.02, **values: Any) -> dict[str, Any]:
    """Return the fields of a service that loses data, as its receivers report."""
    again = round(share * 6200)
    return {
        "from_client": Side(packets=4000, data_segments=200, duplicate_acks=3 * again),
        "from_server": Side(packets=8000, data_segments=6000, retransmitted_segments=again),
        **values,
    }


def held(request_s: Distribution | None = None, backend_s: Distribution | None = None, **values: Any) -> HeldRequests:
    """Return the times of 200 requests that nginx passes on at once; responses are delayed as long as requests."""
    return HeldRequests(
        **{
            "front": FRONT,
            "back": (BACK,),
            "matched": _REQUESTS,
            "request_held_s": request_s or spread(0.0004, 0.01),
            "backend_s": backend_s or spread(0.003, 0.03),
            "connected_held_s": spread(0.0001, 0.01),
            "response_held_s": request_s or spread(0.0004, 0.01),
            "moments": 9,
            **values,
        }
    )


def capture(*services: ServiceSummary, held: HeldRequests | None = None) -> CaptureSummary:
    return CaptureSummary(
        packets=20_000,
        tcp_segments=20_000,
        duration_s=10.0,
        flows=sum(each.flows for each in services),
        services=services,
        held=held,
    )


def legs(front: Mapping[str, Any] | None = None, back: Mapping[str, Any] | None = None, **times: Any) -> CaptureSummary:
    """Return a capture inside nginx's namespace."""
    return capture(service(FRONT, **front or {}), service(BACK, **back or {}), held=held(**times))


def both_legs(
    front: Mapping[str, Any] | None = None, back: Mapping[str, Any] | None = None, **times: Any
) -> EvidenceSet:
    return seen(legs(front, back, **times))


def quic(server: Endpoint = FRONT, /, **values: int) -> QuicService:
    """Return 40 QUIC connections, all established."""
    return QuicService(server=server, **{"connections": 40, "established": 40, "answered": 40, **values})


def log(**values: Any) -> LogSummary:
    """Return the summary of a log with 200 requests that were answered in time."""
    healthy: dict[str, Any] = {
        "requests": _REQUESTS,
        "status_counts": {200: values.get("requests", _REQUESTS)},
        "client_closed_499": 0,
        "closed_499_without_time": 0,
        "request_time_s": spread(0.01, 0.03),
        "connect_time_s": spread(0.0, 0.004),
        "header_minus_connect_s": spread(0.004, 0.02),
        "client_time_s": spread(0.0),
        "workers": (),
    }
    return replace(summarise((), format_name="main"), **{**healthy, **values})


def connects(pid: int, connect_s: Distribution, server: str = str(BACK)) -> ServerConnects:
    """Return a worker's new connections to an upstream server."""
    return ServerConnects(worker_pid=pid, server=server, connect_time_s=connect_s)


def paths(*own_s: Distribution, server: str = str(BACK)) -> tuple[PathTimes, ...]:
    """Return an upstream server's times for each of several paths."""
    return tuple(PathTimes(server=server, path=f"/{number}", own_time_s=each) for number, each in enumerate(own_s))


def stood_still(**values: Any) -> Standstills:
    """Return the standstills of a worker that stopped 20 times while another ran, and delayed 40 of 200 requests."""
    still: dict[str, Any] = {
        "worker_pid": 12,
        "server": str(BACK),
        "alone": 20,
        "moments": 25,
        "delayed": 40,
        "longest_s": 0.3,
    }
    return Standstills(**{**still, **values})


def worker(pid: int, connect_s: Distribution, header_s: Distribution | None = None) -> WorkerSummary:
    return WorkerSummary(
        worker_pid=pid,
        requests=connect_s.count,
        request_time_s=spread(0.01),
        connect_time_s=connect_s,
        header_time_s=header_s or connect_s,
    )


def readings(*numbers: Mapping[str, int], relative: bool = False) -> tuple[CounterSnapshot, ...]:
    counters = dict(HEALTHY_BEFORE)
    made = []
    for each in numbers:
        counters |= each
        made.append(CounterSnapshot(source="proc", counters=dict(counters), relative=relative))
    return tuple(made)


def grown(**numbers: int) -> tuple[CounterSnapshot, ...]:
    """Return two readings on a busy host; counters, named without their group, grow by this much more than usual."""
    later = {
        name: value + HEALTHY_GROWTH.get(name, 0) + numbers.get(name.partition(".")[2], 0)
        for name, value in HEALTHY_BEFORE.items()
    }
    assert numbers.keys() <= {name.partition(".")[2] for name in HEALTHY_BEFORE}
    return readings({}, later)


HEALTHY_BEFORE: Final[Mapping[str, int]] = {
    "Tcp.OutSegs": 1_000_000,
    "Tcp.RetransSegs": 100,
    "Tcp.AttemptFails": 5,
    "TcpExt.ListenOverflows": 0,
    "TcpExt.ListenDrops": 0,
    "TcpExt.TCPReqQFullDrop": 0,
    "TcpExt.TCPReqQFullDoCookies": 0,
    "TcpExt.SyncookiesSent": 0,
    "TcpExt.TCPBacklogDrop": 0,
    "TcpExt.TCPSynRetrans": 2,
    "TcpExt.TCPSackRecovery": 0,
    "TcpExt.TCPLostRetransmit": 0,
    "TcpExt.TCPDSACKRecv": 0,
    "TcpExt.TCPTimeouts": 0,
}
HEALTHY_GROWTH: Final[Mapping[str, int]] = {"Tcp.OutSegs": 20_000, "Tcp.RetransSegs": 3, "TcpExt.TCPTimeouts": 2}


def listening(port: int = FRONT.port, *, queued: int = 0, backlog: int = 511) -> SocketEntry:
    return _socket("LISTEN", queued, backlog, port)


def established(send_queue: int = 0, port: int = FRONT.port, **values: Any) -> SocketEntry:
    """Return a connection on a port of this host, as ``ss -i`` shows it."""
    return replace(_socket("ESTAB", 0, send_queue, port), **{"cwnd": 10, **values})


def half_open(count: int) -> list[SocketEntry]:
    return [_socket("SYN-RECV", 0, 0, FRONT.port)] * count


def table(*entries: SocketEntry) -> SocketTable:
    return socket_table(entries, other_families={}, unread=Unread())


def _socket(state: str, recv_queue: int, send_queue: int, port: int) -> SocketEntry:
    return SocketEntry(
        state=state,
        recv_queue=recv_queue,
        send_queue=send_queue,
        local=SocketAddress(host="10.0.0.2", port=port),
        peer=SocketAddress(host="10.0.0.9", port=40_000),
    )


def softnet(*dropped: int) -> tuple[CounterSnapshot, ...]:
    """Return readings of one CPU with these numbers of dropped packets, and a million packets between readings."""
    return tuple(
        CounterSnapshot(
            source="softnet", counters={"cpu0.processed": number * 1_000_000, "cpu0.dropped": each, "cpu0.squeezed": 3}
        )
        for number, each in enumerate(dropped, start=1)
    )


def memory(*mib: int, pid: int = 7) -> tuple[ProcessStatus, ...]:
    name = f"Name:\tnginx\nPid:\t{pid}\n"
    kib = [each << 10 for each in mib]
    return status.snapshots("".join(f"{name}VmRSS:\t{each + 4} kB\nRssAnon:\t{each} kB\n" for each in kib))


def scheduled(*run_and_wait_s: tuple[float, float]) -> tuple[Schedstat, ...]:
    """Return readings of a worker's time on the CPU, and of its time waiting for one."""
    return tuple(Schedstat(run_s=run_s, wait_s=wait_s, slices=1) for run_s, wait_s in run_and_wait_s)


def pidstat(column: str, *values: float) -> tuple[PidstatSample, ...]:
    return tuple(
        PidstatSample(is_average=False, pid=7, thread_id=None, command="nginx", columns={column: each})
        for each in values
    )


def load_run(**values: Any) -> LoadRun:
    healthy: dict[str, Any] = {
        "tool": "ab",
        "requests": 1000,
        "duration_s": 1.0,
        "requests_per_s": 1000.0,
        "good_per_s": 1000.0,
        "latency_ms": {"p50": 5.0, "p99": 20.0, "max": 30.0},
        "errors": {},
        "non_2xx": 0,
        "failed_share": 0.0,
        "interrupted": False,
        "notes": (),
    }
    return LoadRun(**{**healthy, **values})


def evidence(**kinds: Iterable[Any]) -> EvidenceSet:
    """Return an evidence set; each piece is named after its kind and number, such as "captures 1"."""
    named: dict[str, Any] = {
        kind: tuple(Named(name=f"{kind} {number}", content=each) for number, each in enumerate(contents, start=1))
        for kind, contents in kinds.items()
    }
    return EvidenceSet(**named)


KINDS: Final = {
    CaptureSummary: "captures",
    LogSummary: "access_logs",
    ErrorLog: "error_logs",
    CounterSnapshot: "counters",
    SocketTable: "sockets",
    ProcessStatus: "processes",
    Schedstat: "processes",
    PidstatSample: "pidstat",
    LoadRun: "load_runs",
    MachineCpu: "machine_cpus",
    FullDisks: "disks",
    PacketLoss: "packet_losses",
}


def seen(*parts: Any) -> EvidenceSet:
    """Return an evidence set with parts of any kind; each service gets a separate capture."""
    kinds: dict[str, list[Any]] = {}
    for part in parts:
        piece = capture(part) if isinstance(part, ServiceSummary) else part
        first = piece[0] if isinstance(piece, tuple) else piece
        kind = "softnet" if getattr(first, "source", "") == "softnet" else KINDS[type(first)]
        kinds.setdefault(kind, []).append(piece)
    return evidence(**kinds)


def healthy_evidence() -> EvidenceSet:
    """Return evidence of most kinds from a busy host with nothing wrong."""
    return seen(
        replace(legs(), quic=(quic(),)),
        log(workers=(worker(11, spread(0.0, 0.004)), worker(12, spread(0.001, 0.02)))),
        grown(),
        table(listening(), listening(), *[established(20_000)] * 5, *half_open(3)),
        softnet(0, 2),
        memory(30, 35),
        scheduled((10.0, 1.0), (12.0, 1.1)),
        pidstat("%wait", 1.4, 3.0),
        load_run(),
    )


def verdict(diagnosis: Diagnosis, cause: Cause) -> CauseVerdict:
    return next(each.verdict for each in diagnosis.assessments if each.cause is cause)


def causes(diagnosis: Diagnosis) -> list[Cause]:
    return [each.cause for each in diagnosis.found]


def screen(given: EvidenceSet) -> list[str]:
    """Return the headline and the rows of the first screen."""
    diagnosis = diagnose(given)
    return [headline(diagnosis), *(f"{row.label}: {row.text}" for row in rows(diagnosis))]
