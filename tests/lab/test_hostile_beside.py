"""A hostile configuration ends at most its own check, with one error, and does not affect a claim in another lab."""

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage, which
from typing import Any, Final

import docker
import pytest
from docker.errors import APIError
from requests.exceptions import JSONDecodeError

from fixtures.engine import BuiltImages, PlaceCpus
from fixtures.labs import Measure
from tests.lab.benches import bench_of
from tests.support.own_configurations import written
from tuneproof.catalogue import listen_queue
from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import ROLE, Session
from tuneproof.lab.load.counted import Counted, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.protocol.exchanges import Flow, Step
from tuneproof.lab.subject.own_nginx import DISK_BYTES, MEMORY_BYTES, PROCESSES
from tuneproof.lab.topology.roles import Role
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.containers import OwnNginxError
from tuneproof.report.results.keys import Key
from tuneproof.yours.proposal import Wanted, propose

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# The limit applies to forks, not to processes that join the cgroup, such as the engine's runtime when the lab starts a
# program. https://docs.kernel.org/admin-guide/cgroup-v2.html#pid
_JOINING: Final = 16
_MODULE: Final = "/usr/lib/nginx/modules/hostile.so"
# dlopen(3) runs this code before nginx can check the module.
_FORKS: Final = """
#include <unistd.h>
__attribute__((constructor)) static void forks(void) { for (;;) if (fork() < 0) usleep(100000); }
"""
_WRITES: Final = """
#include <fcntl.h>
#include <unistd.h>
static char block[1 << 20];
__attribute__((constructor)) static void writes(void) {
    int file = open("/var/lib/hostile", O_CREAT | O_WRONLY, 0600);
    unlink("/var/lib/hostile");
    for (;;) if (write(file, block, sizeof block) < 0) usleep(1000);
}
"""
_SERVER: Final = "http { server { listen 8080; location / { proxy_pass http://app:3000; } } }"
_EVENTS: Final = "events { worker_connections 64; }"
# Each request to /loop makes nginx send the same request to itself.
_LOOP: Final = """http { resolver 127.0.0.1 valid=1s; server { listen 8080;
    location / { proxy_pass http://app:3000; }
    location /loop { set $to 127.0.0.1; proxy_pass http://$to:8080; } } }"""
# The stand-in responds with 4 GiB, which no client reads to the end.
_ENDLESS: Final = """http { proxy_max_temp_file_size 102400m; server { listen 8080;
    location / { proxy_set_header X-Tuneproof-Bytes 4294967296; proxy_pass http://app:3000; } } }"""


def asks_slowly(rig: Rig) -> Figures:
    """Read four responses slowly, until nginx has been killed."""
    flow = Flow(connections=4, path="/", read_bytes_per_s=20, receive_buffer_bytes=4096, then=(Step.STAY,))
    with rig.standing(flow, port=8080):
        while rig._stage.subject.is_running():
            time.sleep(0.1)
    raise LabError("nginx has been killed")


def asks_the_loop(rig: Rig) -> Figures:
    """Send a request that nginx repeats to itself, then an ordinary one; return both statuses (0: no response)."""
    looped = [one for answers in rig.flow(Flow(path="/loop", timeout_s=20.0), port=8080) for one in answers.answers]
    after = [one for answers in rig.flow(Flow(path="/", timeout_s=20.0), port=8080) for one in answers.answers]
    return {"looped_status": looped[0].status if looped else 0, "after_status": after[0].status if after else 0}


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """A configuration, and the expected end of its check."""

    text: str
    ends_with: str  # part of the error; empty if the check completes
    module: str = ""  # source code of a module that the configuration loads
    script: Any = asks_slowly


CASES: Final = {
    "50,000 workers": Hostile(text=f"worker_processes 50000; {_EVENTS} {_SERVER}", ends_with="more than 256 workers"),
    "endless temporary files": Hostile(text=f"{_EVENTS} {_ENDLESS}", ends_with="disk lost 2 GiB"),
    "a proxy loop": Hostile(text=f"{_EVENTS} {_LOOP}", ends_with="", script=asks_the_loop),
    "a module that forks": Hostile(
        text=f"load_module {_MODULE}; {_EVENTS} {_SERVER}", ends_with="more than 512 processes", module=_FORKS
    ),
    "a module that writes": Hostile(
        text=f"load_module {_MODULE}; {_EVENTS} {_SERVER}", ends_with="disk lost 2 GiB", module=_WRITES
    ),
}


@dataclass(kw_only=True)
class Most:
    """The largest values that were sampled from a foreign nginx's container."""

    memory_bytes: int = 0
    processes: int = 0
    disk_bytes: int = 0  # disk space that the engine lost
    running: bool = True
    looks: int = 0


@contextmanager
def watched(client: docker.DockerClient, session: Session) -> Iterator[Most]:
    """Sample the containers, and the engine's disk if it is on this machine, until the end of the context."""
    most, root = Most(), Path(client.info()["DockerRootDir"])

    def free() -> int:
        return disk_usage(root).free if root.exists() else 0

    before = free()

    def look() -> None:
        labels = [f"{ROLE}={Role.SUBJECT}", *(f"{name}={value}" for name, value in session.labels.items())]
        filters = {"label": labels, "name": "-yours$"}
        while most.running:
            most.disk_bytes = max(most.disk_bytes, before - free())
            for one in client.api.containers(filters=filters):
                try:
                    seen = client.api.stats(one["Id"], stream=False, one_shot=True)
                except (APIError, JSONDecodeError):
                    # The container has ended.
                    continue
                most.looks += 1
                most.memory_bytes = max(most.memory_bytes, seen["memory_stats"].get("usage", 0))
                most.processes = max(most.processes, seen["pids_stats"].get("current", 0))
            time.sleep(0.02)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield most
    finally:
        most.running = False
        looking.join()


def built(source: str, folder: Path) -> bytes:
    if which("gcc") is None:
        pytest.skip("gcc is not installed here, so no hostile module can be built")
    (folder / "hostile.c").write_text(source, encoding="ascii")
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(folder / "hostile.so"), str(folder / "hostile.c")]
    subprocess.run(command, check=True)
    return (folder / "hostile.so").read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_configuration_ends_only_its_own_check(
    name: str,
    engine: docker.DockerClient,
    images: BuiltImages,
    lab_session: Session,
    place_cpus: PlaceCpus,
    measure: Measure,
    nginx: str,
    tmp_path: Path,
) -> None:
    hostile = CASES[name]
    path = written(tmp_path, {"nginx.conf": hostile.text})
    modules: Mapping[str, bytes] = {_MODULE: built(hostile.module, tmp_path)} if hostile.module else {}
    # The lab's own nginx loads only Debian's modules; a user's image may contain others.
    image = images.subjects[nginx] if modules else ""
    proposal = propose(Wanted(configuration=str(path), version=nginx, image=image))
    (yours,) = {arm.subject.name: arm.subject for arm in proposal.scenario.arms if arm.subject.name == "yours"}.values()
    assert yours.own is not None
    subject = replace(yours, own=replace(yours.own, files={**yours.own.files, **modules}))
    arm = Arm(name="hostile", subject=subject, plan=Counted(script=hostile.script, starts=False))

    def check() -> Mapping[str, float]:
        built, placement = images.of_bench(nginx), place_cpus(())
        with bench_of(lab_session, proposal.scenario, arms=[arm], nginx=nginx, images=built, placement=placement) as (
            _,
            bench,
        ):
            return dict(bench.run(arm, label="hostile").record.figures)

    claim = listen_queue.SCENARIO.claim("long_backlog_spares_connects")
    with watched(engine, lab_session) as most, ThreadPoolExecutor(max_workers=1) as pool:
        checking = pool.submit(check)
        with measure(Key(f"beside {name}", "", nginx, BARE.name), listen_queue.SCENARIO, [claim]) as measures:
            cell = measures.decide(claim)
        if hostile.ends_with:
            with pytest.raises(OwnNginxError, match=hostile.ends_with):
                checking.result()
        else:
            assert checking.result() == {"looped_status": 500, "after_status": 200}
    assert cell.verdict == Verdict.HOLDS, cell.reason
    assert most.looks > 0
    assert most.memory_bytes <= MEMORY_BYTES
    assert most.processes <= PROCESSES + _JOINING
    # A disk may still fill between two checks of the guard (docs/security.md).
    assert most.disk_bytes < 1.5 * DISK_BYTES
