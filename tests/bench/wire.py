"""Measures a wire (a user-mode shaper): the time until it is ready, its memory, and its throughput."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from tests.support.path_lab import PEER, path_lab_specs
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.agent import owner_name
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import WIRE, LinkProfile, NetworkProfile
from tuneproof.lab.network.shaped_links import ProbePlan, ShapedLinks
from tuneproof.lab.network.shaper import why_impossible
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.lab import Lab

_LABS: Final = 5
_PLAN: Final = ProbePlan(packets=2500, interval_s=0.001, payload_bytes=64, load_s=1.0)
# netem is attached without an effect: its rate exceeds the wire's throughput.
_OPEN: Final = NetworkProfile(
    name="open", summary="Through the wire, not limited.", client=LinkProfile.both(Impairment(rate_mbit=32_000))
)
# Files with the container's own memory, cgroup v2 and v1.
_MEMORY_FILES: Final = ("/sys/fs/cgroup/memory.stat", "/sys/fs/cgroup/memory/memory.stat")


def measure_wire(session: Session, *, netadmin_image: str, client_image: str) -> Iterator[str]:
    if reason := why_impossible(session, netadmin_image)[WIRE]:
        yield f"no wire on this host: {reason}"
        return
    ready_s: list[float] = []
    memory_mb: list[float] = []
    rates_mbit: list[float] = []
    for _ in range(_LABS):
        with Lab(session) as lab:
            lab.start(
                path_lab_specs(
                    shaper=WIRE,
                    netadmin_image=netadmin_image,
                    client_image=client_image,
                    peer_cpuset="0",
                    others_cpuset="1",
                )
            )
            links = ShapedLinks(lab, shaper=WIRE)
            ready_s += [ready for role in links.roles if (ready := links.agent(role).greet().ready_s) is not None]
            links.apply(_OPEN, subject=PEER)
            figures = links.measure("client", _OPEN.client, subject=PEER, plan=_PLAN)
            rates_mbit += [way.rate_mbit for way in figures.directions.values() if way.rate_mbit]
            memory_mb.append(_own_memory_bytes(lab[owner_name("client")]) / 1e6)
    yield f"wire, {_LABS} labs with two wires each:"
    yield f"  ready after the start of its program: {spread(ready_s)} s"
    yield f"  throughput without a limit: {spread([rate / 1000 for rate in rates_mbit])} Gbit/s"
    yield f"  memory of its container without page cache: {spread(memory_mb)} MB"


def _own_memory_bytes(container: LabContainer) -> int:
    """Return anonymous plus shared memory: the wire's memory is a file in a tmpfs, which counts as shared."""
    script = f"cat {' '.join(_MEMORY_FILES)} 2>/dev/null || true"
    rows = [line.split() for line in container.run(["sh", "-c", script]).decode().splitlines()]
    figures = {name: int(value) for name, value in rows}
    return figures.get("anon", figures.get("rss", 0)) + figures.get("shmem", 0)


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} (median; {min(values):.2f} to {max(values):.2f})"
