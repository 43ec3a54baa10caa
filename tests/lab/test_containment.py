"""Foreign configurations run with few privileges and limited resources; a container that fills the disk is ended."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import docker
import pytest

from fixtures.engine import BuiltImages, PlaceCpus
from tests.lab.benches import bench_of
from tests.support.configurations import whole
from tests.support.own_configurations import written
from tuneproof.errors import CannotRunHereError
from tuneproof.lab.engine.labels import LEASE, Session
from tuneproof.lab.network.agent import owner_name
from tuneproof.lab.subject.own_nginx import SOCKETS
from tuneproof.lab.topology import placed
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.disk_guard import DiskGuard
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.wording import size
from tuneproof.yours.proposal import Wanted, propose

pytestmark = pytest.mark.engine

# Numbers of capabilities: https://github.com/torvalds/linux/blob/master/include/uapi/linux/capability.h
_NUMBERS: Final = {"CHOWN": 0, "DAC_OVERRIDE": 1, "SETGID": 6, "SETUID": 7, "NET_ADMIN": 12, "NET_RAW": 13}
_NO_CAPABILITY: Final = f"{0:016x}"
_OF_WORKERS: Final = "cat $(grep -l '^nginx: worker' /proc/[0-9]*/cmdline | sed s/cmdline/status/)"
_PROXY: Final = "server { listen 8080; location / { proxy_pass http://unix:/run/app.sock; } }"
# The files of cgroup version 1 come first, then those of version 2.
_LIMITS: Final = (
    "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null "
    "|| cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/memory.max"
)


@contextmanager
def started(
    text: str,
    folder: Path,
    *,
    images: BuiltImages,
    session: Session,
    place_cpus: PlaceCpus,
    nginx: str,
    trusts: bool = False,
) -> Iterator[Lab]:
    proposal = propose(Wanted(configuration=str(written(folder, whole(text).files)), version=nginx))
    arms = [arm for arm in proposal.scenario.arms if arm.subject.name == "yours"]
    built, placement = images.of_bench(nginx), place_cpus(())
    with bench_of(
        session, proposal.scenario, arms=arms, nginx=nginx, images=built, placement=placement, trusts=trusts
    ) as (lab, _):
        yield lab


def documented() -> dict[str, list[str]]:
    """Return the rows of the table of limits in docs/hosts.md, by the text of their first column."""
    _, _, behind = Path("docs/hosts.md").read_text(encoding="utf-8").partition("| container | capabilities ")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in behind.split("\n\n")[0].splitlines()[2:]]
    return {name: cells for name, *cells in rows}


def limits_inside(container: LabContainer, process: str) -> list[str]:
    """Return the kernel's report on a process as a row of the table of limits in docs/hosts.md."""
    status = container.run(["cat", f"/proc/{process}/status"]).decode()
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert lines["CapBnd"] == lines["CapEff"]
    assert lines["NoNewPrivs"] == "1"
    kept = [name for name, number in sorted(_NUMBERS.items()) if int(lines["CapEff"], 16) >> number & 1]
    assert int(lines["CapEff"], 16) == sum(1 << _NUMBERS[name] for name in kept)
    processes, memory = map(int, container.run(["sh", "-c", _LIMITS]).split())
    limits = container.run(["cat", f"/proc/{process}/limits"]).decode()
    (descriptors,) = set(re.findall(r"^Max open files +(\d+) +(\d+)", limits, re.MULTILINE)[0])
    assert re.search(r"^Max core file size +0 +0", limits, re.MULTILINE)
    mounts = [line.split() for line in container.run(["cat", "/proc/self/mountinfo"]).decode().splitlines()]
    # Only the engine's own three files and the volume with unix sockets come from the host.
    from_disk = {mount[4] for mount in mounts if mount[mount.index("-") + 2].startswith("/dev/")}
    assert from_disk <= {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts", SOCKETS}
    (root,) = (mount[5].split(",")[0] for mount in mounts if mount[4] == "/")
    writable = {"ro": "read-only", "rw": "writable"}[root]
    return [", ".join(kept) or "none", size(memory), str(processes), descriptors, writable]


def test_foreign_nginx_and_its_helpers_have_limits_and_few_capabilities(
    images: BuiltImages, lab_session: Session, place_cpus: PlaceCpus, nginx: str, tmp_path: Path
) -> None:
    """The limits are those of docs/hosts.md; workers have no capabilities at all, and no program can gain any."""
    with started(_PROXY, tmp_path, images=images, session=lab_session, place_cpus=place_cpus, nginx=nginx) as lab:
        # The helper sees nginx's processes, so its process 1 is nginx's; "self" is the helper's own.
        seen = {
            "your own nginx": limits_inside(lab["yours"], "1"),
            "the helper in its network": limits_inside(lab[owner_name("yours")], "self"),
            "the stand-in next to it": limits_inside(lab["standin-yours"], "1"),
        }
        assert seen == documented()
        workers = lab["yours"].run(["sh", "-c", _OF_WORKERS], user="0:0").decode()
        assert {line.split()[1] for line in workers.splitlines() if line.startswith("CapEff:")} == {_NO_CAPABILITY}


def test_the_lease_runs_as_nobody_without_capabilities(
    engine: docker.DockerClient, lab_session: Session, leases: object
) -> None:
    assert leases
    found = engine.containers.list(filters={"label": [LEASE, f"io.tuneproof.session={lab_session.id}"]})
    for container in found:
        status = bytes(container.exec_run(["cat", "/proc/1/status"]).output).decode()  # type: ignore[arg-type] # not a stream
        assert f"CapEff:\t{_NO_CAPABILITY}\n" in status
        assert "Uid:\t65534\t" in status
        assert container.exec_run(["touch", "/tmp/x"]).exit_code != 0  # noqa: S108 - inside the container
    assert found


def test_a_container_that_fills_the_disk_is_ended(images: BuiltImages, lab_session: Session) -> None:
    """The file is unlinked while it grows, like nginx's temporary files, so no folder's size shows it."""
    fills = "import os, time; time.sleep(1); f = open('/var/lib/backend/x', 'wb'); os.unlink(f.name)\n"
    fills += "while True: f.write(bytes(1 << 20)); f.flush()"
    specs = [
        RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"]),
        RoleSpec(
            name="fills",
            role=Role.BACKEND,
            image=images.roles["backend"],
            command=("python3", "-c", fills),
        ),
    ]
    with Lab(lab_session) as lab:
        lab.start(specs)
        guard = DiskGuard(lab["client"], [lab["fills"]], limit_bytes=256 << 20)
        guard.start()
        deadline_s = time.monotonic() + 30
        while lab["fills"].is_running():
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        assert guard.lost_bytes == 256 << 20


@pytest.mark.slow
def test_foreign_files_run_only_with_trust_if_the_host_answers(
    images: BuiltImages,
    lab_session: Session,
    place_cpus: PlaceCpus,
    nginx: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On Docker's default internal network, the host answers, so nginx starts only with --trust."""
    monkeypatch.setattr(placed, "WITHOUT_ADDRESS", {})
    lab: dict[str, Any] = {"images": images, "session": lab_session, "place_cpus": place_cpus, "nginx": nginx}
    with (
        pytest.raises(CannotRunHereError, match=r"beyond the lab: the engine's host answers at \d") as caught,
        started(_PROXY, tmp_path, **lab),
    ):
        pass
    assert "--trust" in caught.value.remedy
    with started(_PROXY, tmp_path, **lab, trusts=True) as running:
        assert running["yours"].is_running()
