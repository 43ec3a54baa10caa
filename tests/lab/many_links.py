"""``python -m tests.lab.many_links [TIMES]`` starts labs with shaped links repeatedly, and prints their leftovers."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker

from tests.lab.children import wait_until
from tests.support.path_lab import PEER, path_lab_specs
from tuneproof.lab.engine.images import ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.session import session_on
from tuneproof.lab.network.links import AUTO
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.network.shaped_links import QUICK_PROBES, ShapedLinks
from tuneproof.lab.network.shaper import choose_shaper, why_impossible
from tuneproof.lab.subject.images import role_images
from tuneproof.lab.topology.lab import Lab

# The engine removes an endpoint's link a moment after its container.
_GONE_WITHIN_S: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Resources of this machine that labs could use up or leave behind."""

    links: frozenset[str]  # names of network interfaces; those on a remote engine's machine are not visible
    kernels: int  # user-mode kernels
    own_rss_bytes: int  # this process
    available_bytes: int  # memory

    @classmethod
    def look(cls) -> "Leftovers":
        return cls(
            links=frozenset(entry.name for entry in Path("/sys/class/net").iterdir()),
            kernels=sum(command.startswith("linux.uml") for command in _commands()),
            own_rss_bytes=_kib("/proc/self/status", "VmRSS") * 1024,
            available_bytes=_kib("/proc/meminfo", "MemAvailable") * 1024,
        )


def start_and_end(session: Session, *, shaper: str, netadmin_image: str, client_image: str) -> float:
    """Start a lab, shape and measure one of its links, and end it; return the duration in seconds."""
    began_s = time.monotonic()
    with Lab(session) as lab:
        lab.start(
            path_lab_specs(
                shaper=shaper,
                netadmin_image=netadmin_image,
                client_image=client_image,
                peer_cpuset="",
                others_cpuset="",
            )
        )
        links = ShapedLinks(lab, shaper=shaper)
        profile = PROFILES["slow-client"]
        links.apply(profile, subject=PEER)
        links.measure("client", profile.client, subject=PEER, plan=QUICK_PROBES)
    return time.monotonic() - began_s


def start_many(client: docker.DockerClient, session: Session, times: int) -> Iterator[Leftovers]:
    """Start this many labs one after the other; yield the machine's state before the first lab and after each.

    Raises TimeoutError: A lab left a link or a kernel behind.
    """
    images = {name: image for name, image in role_images().items() if name != "backend"}
    ensure_images(client, list(images.values()), report=_say)
    shaper = choose_shaper(AUTO, why_impossible(session, images["netadmin"].tag))
    before = Leftovers.look()
    yield before
    for _ in range(times):
        start_and_end(session, shaper=shaper, netadmin_image=images["netadmin"].tag, client_image=images["client"].tag)
        wait_until(lambda: Leftovers.look().links <= before.links, within_s=_GONE_WITHIN_S)
        wait_until(lambda: Leftovers.look().kernels <= before.kernels, within_s=_GONE_WITHIN_S)
        yield Leftovers.look()


def _commands() -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue


def _kib(path: str, name: str) -> int:
    for line in Path(path).read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(f"{path} has no {name}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(times: int) -> None:
    client = connect(timeout_s=600)
    with session_on({"": client}) as session:
        for number, found in enumerate(start_many(client, session, times)):
            _say(
                f"{number:3}: {len(found.links)} links, {found.kernels} user-mode kernels, this process "
                f"{found.own_rss_bytes / 1e6:.1f} MB, machine {found.available_bytes / 1e6:.0f} MB available"
            )
    client.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
