"""Receive packet steering (RPS) of the role's link: the CPUs that handle its packets above the driver.

See https://docs.kernel.org/networking/scaling.html. Without RPS, the CPU on which a packet arrived handles it.
"""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .links import ROLE_LINK

_SYS: Final = Path("/sys")
_OWN_SYS: Final = Path("/run/own-sys")
_GROUP_BITS: Final = 32


def cpu_mask(cpus: Iterable[int]) -> str:
    """Return a set of CPUs in the kernel's notation: hexadecimal, in groups of 32 CPUs, the highest ones first."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{bits % (1 << _GROUP_BITS):08x}"]
    while bits := bits >> _GROUP_BITS:
        groups.append(f"{bits % (1 << _GROUP_BITS):08x}")
    return ",".join(reversed(groups)).lstrip("0,") or "0"


def cpus_of_mask(mask: str) -> list[int]:
    """Return the CPUs of such a mask, in ascending order (ValueError: the text is not a mask)."""
    bits = int(mask.replace(",", ""), 16)
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]


def writable_sys() -> Path:
    """Return a writable sysfs that shows this network namespace's links: /sys, or a new one, mounted once.

    The engine's own one is read-only. A mount needs CAP_SYS_ADMIN; only this container sees it, and the host's links do
    not change.
    """
    if os.access(_SYS, os.W_OK) and not os.statvfs(_SYS).f_flag & os.ST_RDONLY:
        return _SYS
    if not (_OWN_SYS / "class").exists():
        _OWN_SYS.mkdir(parents=True, exist_ok=True)
        # The engine's mount also made the file system itself read-only, and the new mount shares it.
        for options in ((), ("-o", "remount,rw")):
            command = ["mount", "-t", "sysfs", *options, "sysfs", str(_OWN_SYS)]
            mounted = subprocess.run(command, check=False, capture_output=True, text=True)
            if mounted.returncode:
                raise OSError(f"/sys is read only, and no other can be mounted: {mounted.stderr.strip()}")
    return _OWN_SYS


def steer_receive(cpus: Iterable[int], *, queues: Path | None = None) -> dict[str, tuple[int, ...]]:
    """Steer everything that the role's link receives to these CPUs; return what was read back, by receive queue.

    ``queues`` is the folder of the queues; by default the link's.
    """
    folder = queues or writable_sys() / "class/net" / ROLE_LINK / "queues"
    files = sorted(folder.glob("rx-*/rps_cpus"))
    if not files:
        raise OSError(f"{folder} has no receive queue with rps_cpus")
    for file in files:
        try:
            file.write_text(f"{cpu_mask(cpus)}\n", encoding="ascii")
        except OSError as error:
            raise OSError(f"rps_cpus cannot be written: {error}") from error
    found = {file.parent.name: cpus_of_mask(file.read_text(encoding="ascii")) for file in files}
    wanted = sorted(set(cpus))
    if other := {name: steered for name, steered in found.items() if steered != wanted}:
        raise RuntimeError(f"rps_cpus should name the CPUs {wanted}, but names {other}")
    return {name: tuple(steered) for name, steered in found.items()}
