"""Compares the cost of analysing a capture with tshark's, on at least a million packets recorded in the lab.

Both programs run in turn in one container, on one CPU. Times are from process start to exit; CPU time stays valid if
the machine has other work, too. tshark runs in its fastest mode, ``-q -z io,stat``, which computes counts of
retransmitted and overtaken segments, closed windows and RSTs, and the mean handshake and HTTP response times. The
project's summary contains these figures and many more: by service, with percentiles, the worst connections, and the
times for which nginx held requests. ``-T fields``, which prints these fields of each packet, runs once for comparison.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from tests.support.places import CHECKOUT
from tuneproof.explain.parse.capture.framing import PacketReader
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.stall_load import SMALL_PATH
from tuneproof.lab.network.agent import agent_in, owner_name
from tuneproof.lab.network.shaped_links import companion_spec
from tuneproof.lab.subject.config import CONFIG_PATH, SubjectConfig
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.inference.plan import side
from tuneproof.proof.inference.verdicts import level_of_medians, order_interval
from tuneproof.proof.scenario.backends import FILES, READY, STATIC, Backend
from tuneproof.proof.scenario.containers import BenchImages

PAIRS: Final = 7
_PACKETS: Final = 1_000_000
_SNAP_BYTES: Final = 96
_SUBJECT_CPU, _OTHERS_CPU = "0", "1"

_CLIENT: Final = "client"
_TSHARK: Final = "tshark"
_CAPTURE: Final = "/tmp/million.pcapng"  # noqa: S108  # inside a container without other users
_CODE: Final = "/opt/lab"

_RETRANSMISSION, _OUT_OF_ORDER = "tcp.analysis.retransmission", "tcp.analysis.out_of_order"
_ZERO_WINDOW, _RESET = "tcp.analysis.zero_window", "tcp.flags.reset"
_HANDSHAKE, _RESPONSE = "tcp.analysis.initial_rtt", "http.time"
_COUNTED: Final = (_RETRANSMISSION, _OUT_OF_ORDER, _ZERO_WINDOW)
_AVERAGED: Final = (_HANDSHAKE, _RESPONSE)
_STATISTICS: Final = ",".join(
    (
        "io,stat,0",
        *(f"COUNT({field}){field}" for field in _COUNTED),
        f"{_RESET}==1",
        *(f"AVG({field}){field}" for field in _AVERAGED),
    )
)
_SUMMING: Final = ("tshark", "-r", _CAPTURE, "-q", "-z", _STATISTICS)
_PRINTING: Final = (
    *("tshark", "-r", _CAPTURE, "-T", "fields"),
    *(word for field in (*_COUNTED, _RESET, *_AVERAGED) for word in ("-e", field)),
)
_OURS: Final = (
    "python3",
    "-c",
    f"""
from tuneproof.explain.parse.capture.capture_summary import read_capture
with open({_CAPTURE!r}, "rb") as file:
    summary = read_capture(file)
assert summary.truncated is None and summary.services and not summary.other
""",
)
# Prints the costs of a program with its output discarded: time and CPU time in s, and the largest resident set in KiB.
_TIMED: Final = """
import json, resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
took = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.monotonic() - began, took.ru_utime + took.ru_stime, took.ru_maxrss]))
"""


@dataclass(frozen=True, kw_only=True)
class _Cost:
    """The cost of one run of a program."""

    time_s: float  # from start to exit
    cpu_s: float
    size_mib: float  # largest resident set


@dataclass(frozen=True, kw_only=True)
class _Traffic:
    """One kind of traffic, about 250 000 packets: the requests of ab(1) to nginx, and the server behind it."""

    name: str  # also the name of the subject that serves it
    backend: Backend
    path: str
    requests: int  # each on a new connection
    concurrency: int


# A capture keeps the newest 64 MiB: at least 500 000 packets of _SNAP_BYTES, or shorter ones.
_TRAFFIC: Final = (
    _Traffic(
        name="short-connections", backend=Backend(name="static", kind=STATIC), path="/", requests=12_000, concurrency=32
    ),
    _Traffic(name="downloads", backend=Backend(name="files", kind=FILES), path=SMALL_PATH, requests=60, concurrency=4),
)


def measure_capture(session: Session, *, images: BenchImages, tshark_image: str) -> Iterator[str]:
    capture = record(session, images)
    packets = _count(capture)
    with Lab(session) as lab:
        lab.start([_analysts(tshark_image, capture)])
        container = lab[_TSHARK]
        # Each program's first run does not count: it loads the file into memory, and compiles the project's modules.
        _timed(container, _OURS)
        _timed(container, _SUMMING)
        pairs = [(_timed(container, _OURS), _timed(container, _SUMMING)) for _ in range(PAIRS)]
        printing = _timed(container, _PRINTING)
        version = container.run(["tshark", "--version"]).decode().split()[2]
    ours, theirs = zip(*pairs, strict=True)
    yield f"analysis of {packets} packets ({len(capture) / 1e6:.0f} MB), {PAIRS} pairs in turn:"
    yield f"  lab: {_summary(ours, packets)}"
    yield f"  tshark {version}: {_summary(theirs, packets)}"
    yield f"  lab / tshark, time: {_ratio([our.time_s / their.time_s for our, their in pairs])}"
    yield f"  lab / tshark, CPU time: {_ratio([our.cpu_s / their.cpu_s for our, their in pairs])}"
    yield f"  tshark printing the same fields of each packet, once: {printing.cpu_s:.2f} s of CPU time"
    yield "  required: at least tshark's speed, and at most 200 MiB"


def record(session: Session, images: BenchImages) -> bytes:
    """Return a capture of both legs in nginx's namespace, recorded in parts until there are enough packets."""
    with Lab(session) as lab:
        lab.start(_specs(images))
        for traffic in _TRAFFIC:
            lab[traffic.backend.name].wait_for_log(READY)
        for traffic in _TRAFFIC:
            agent_in(lab[owner_name(traffic.name)]).switch_segmentation(on=False)
        parts: list[bytes] = []
        while sum(map(_count, parts)) < _PACKETS:
            traffic = _TRAFFIC[len(parts) % len(_TRAFFIC)]
            beside = lab[owner_name(traffic.name)]
            agent_in(beside).start_capture("tcp", _SNAP_BYTES)
            lab[_CLIENT].run(_ab(traffic))
            parts.append(beside.fetch(agent_in(beside).stop_capture()))
    # A pcapng may have several sections.
    return b"".join(parts)


def _ab(traffic: _Traffic) -> list[str]:
    url = f"http://{traffic.name}:{SubjectConfig().port}{traffic.path}"
    return ["ab", "-q", "-r", "-n", str(traffic.requests), "-c", str(traffic.concurrency), url]


def _specs(images: BenchImages) -> list[RoleSpec]:
    specs = [RoleSpec(name=_CLIENT, role=Role.CLIENT, image=images.client, cpuset=_OTHERS_CPU)]
    for traffic in _TRAFFIC:
        config = SubjectConfig(upstream=traffic.backend.upstream)
        backend = traffic.backend.spec(image=images.backend, cpuset=_OTHERS_CPU)
        subject = RoleSpec(
            name=traffic.name,
            role=Role.SUBJECT,
            image=images.subject,
            cpuset=_SUBJECT_CPU,
            files={CONFIG_PATH: config.render().encode()},
            after=(backend.name,),
        )
        specs += [backend, subject, companion_spec(subject.name, image=images.netadmin, cpuset=_OTHERS_CPU)]
    return specs


def _analysts(image: str, capture: bytes) -> RoleSpec:
    """Return a container with tshark, this project's analysis, and the capture."""
    return RoleSpec(
        name=_TSHARK,
        role=Role.CLIENT,
        image=image,
        cpuset=_OTHERS_CPU,
        environment={"PYTHONPATH": _CODE, "PYTHONPYCACHEPREFIX": "/tmp/compiled"},  # noqa: S108  # as above
        files={_CAPTURE: capture, **_code()},
    )


def _code() -> Mapping[str, bytes]:
    modules = [CHECKOUT / "tuneproof/__init__.py", *(CHECKOUT / "tuneproof/explain/parse").rglob("*.py")]
    return {str(Path(_CODE) / path.relative_to(CHECKOUT)): path.read_bytes() for path in modules}


def _timed(container: LabContainer, command: tuple[str, ...]) -> _Cost:
    time_s, cpu_s, size_kib = json.loads(container.run(["python3", "-c", _TIMED, *command]))
    return _Cost(time_s=time_s, cpu_s=cpu_s, size_mib=size_kib / 1024)


def _summary(costs: Sequence[_Cost], packets: int) -> str:
    times_s, cpus_s = [cost.time_s for cost in costs], [cost.cpu_s for cost in costs]
    return (
        f"{statistics.median(times_s):.2f} s (median; {min(times_s):.2f} to {max(times_s):.2f}), "
        f"CPU time {statistics.median(cpus_s):.2f} s ({min(cpus_s):.2f} to {max(cpus_s):.2f}), "
        f"{statistics.median(cpus_s) / packets * 1e6:.2f} µs per packet, {max(cost.size_mib for cost in costs):.0f} MiB"
    )


def _ratio(ratios: Sequence[float]) -> str:
    looks = (len(ratios),)
    interval = order_interval(ratios, side(looks).looks[0], plan_level=level_of_medians(looks))
    return f"{interval.value:.2f} ({interval.plan_level:.1%} interval {interval.low:.2f} to {interval.high:.2f})"


def _count(capture: bytes) -> int:
    return sum(1 for _ in PacketReader(BytesIO(capture)))
