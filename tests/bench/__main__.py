"""``python -m tests.bench`` measures the costs of a lab, a wire, the analysis of a capture, the recorder, and commands.

``--only NAME`` measures one of them; ``--times N`` sets how often each command runs.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from tests.bench.capture import measure_capture
from tests.bench.runs import COMMANDS, measure_command
from tests.bench.turns import measure_turns
from tests.bench.wire import measure_wire, spread
from tuneproof.lab.engine.images import ImageSpec, ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.session import session_on
from tuneproof.lab.subject.config import CONFIG_PATH, SubjectConfig
from tuneproof.lab.subject.versions import DEFAULT_VERSION, SUITES
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.scenario.containers import BenchImages

_LABS: Final = 5
_ROLES: Final = ("subject", "backend", "client", "netadmin", "tshark")
_SUBJECTS: Final = 3


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def containers(images: dict[str, str]) -> list[RoleSpec]:
    """Return a lab's containers, dependencies first: a backend, three subjects, a client, and the netadmins."""
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


def measure_lab(session: Session, images: dict[str, str]) -> Iterator[str]:
    specs = containers(images)
    took_s = []
    for _ in range(_LABS):
        began_s = time.monotonic()
        with Lab(session) as lab:
            lab.start(specs)
        took_s.append(time.monotonic() - began_s)
    yield f"start and end of {len(specs)} containers, {_LABS} times: {spread(took_s)} s"


@contextmanager
def _engine() -> Iterator[tuple[Session, dict[str, str]]]:
    """Yield a session on the engine, and the names of the images by role; missing images are built."""
    client = connect(timeout_s=600)
    specs = {role: ImageSpec(name=role, suite=SUITES[DEFAULT_VERSION]) for role in _ROLES}
    ensure_images(client, list(specs.values()), report=_say)
    with session_on({"": client}) as session:
        yield session, {role: spec.tag for role, spec in specs.items()}
    client.close()


def _lab() -> Iterator[str]:
    with _engine() as (session, images):
        yield from measure_lab(session, images)


def _wire() -> Iterator[str]:
    with _engine() as (session, images):
        yield from measure_wire(session, netadmin_image=images["netadmin"], client_image=images["client"])


def _capture() -> Iterator[str]:
    with _engine() as (session, images):
        tshark_image = images.pop("tshark")
        yield from measure_capture(session, images=BenchImages(**images), tshark_image=tshark_image)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each command (default: 3)")
    parts: Mapping[str, Callable[[int], Iterator[str]]] = {
        "lab": lambda _times: _lab(),
        "wire": lambda _times: _wire(),
        "capture": lambda _times: _capture(),
        "turns": lambda _times: measure_turns(),
        **{name: partial(measure_command, name) for name in COMMANDS},
    }
    parser.add_argument(
        "--only", choices=parts, action="append", help="measure only this part; repeatable (default: all)"
    )
    asked = parser.parse_args()
    for name in asked.only or parts:
        for line in parts[name](asked.times):
            _say(line)


if __name__ == "__main__":
    main()
