"""``python -m tests.bench``: what a lab, a wire, an analysis, a record of turns and a run cost."""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from tests.bench.capture import measure_capture
from tests.bench.runs import measure_runs
from tests.bench.turns import measure_turns
from tests.bench.wire import measure_wire
from tuneproof.lab.engine.images import ImageSpec, ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.reaper import Reaper
from tuneproof.lab.subject.config import CONFIG_PATH, SubjectConfig
from tuneproof.lab.subject.versions import DEFAULT_VERSION, SUITES
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.scenario.containers import BenchImages

_LABS: Final = 5
_RUNS: Final = 3
_SUBJECTS: Final = 3


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def containers(images: dict[str, str]) -> list[RoleSpec]:
    """Return a lab of one backend, one client and three subjects with their netadmins, in the order of their needs."""
    config = SubjectConfig(upstream="backend:8000").render().encode()
    subjects = [
        RoleSpec(
            name=f"subject-{number}",
            role=Role.SUBJECT,
            image=images["subject"],
            cpuset="0",
            sysctls={"net.ipv4.tcp_rmem": "40960 40960 40960"},
            files={CONFIG_PATH: config},
            after=("backend",),
        )
        for number in range(_SUBJECTS)
    ]
    netadmins = [
        RoleSpec(
            name=f"netadmin-{spec.name}",
            role=Role.NETADMIN,
            image=images["netadmin"],
            cpuset="1",
            capabilities=("NET_ADMIN", "NET_RAW"),
            joins=spec.name,
        )
        for spec in subjects
    ]
    sizes = {"BULK_BYTES": "1048576", "SMALL_BYTES": "1024"}
    backend = RoleSpec(name="backend", role=Role.BACKEND, image=images["backend"], cpuset="1", environment=sizes)
    client = RoleSpec(name="client", role=Role.CLIENT, image=images["client"], cpuset="1")
    return [backend, *subjects, client, *netadmins]


def measure_lab(session: Session, images: dict[str, str]) -> None:
    """Print how long start and end of a lab's containers take."""
    specs = containers(images)

    def whole() -> None:
        with Lab(session) as lab:
            lab.start(specs)

    _say(
        f"start and end of {len(specs)} containers, {_LABS} times: {_spread([_seconds(whole) for _ in range(_LABS)])} s"
    )


def _seconds(work: Callable[[], None]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} (median; {min(values):.2f} to {max(values):.2f})"


def main() -> None:
    client = connect(timeout_s=600)
    specs = {
        role: ImageSpec(name=role, suite=SUITES[DEFAULT_VERSION])
        for role in ("subject", "backend", "client", "netadmin", "tshark")
    }
    ensure_images(client, list(specs.values()), report=_say)
    tags = {role: spec.tag for role, spec in specs.items()}
    session = Session()
    with Reaper(session):
        measure_lab(session, tags)
        for line in measure_wire(session, netadmin_image=tags["netadmin"], client_image=tags["client"]):
            _say(line)
        tshark_image = tags.pop("tshark")
        for line in measure_capture(session, images=BenchImages(**tags), tshark_image=tshark_image):
            _say(line)
    client.close()
    for line in measure_turns():
        _say(line)
    for line in measure_runs(_RUNS):
        _say(line)


if __name__ == "__main__":
    main()
