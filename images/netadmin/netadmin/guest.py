"""The only process in a wire's user-mode kernel, which joins two links and shapes them.

The agent outside sends lines of JSON over the serial line, and gets one line for each. ``wire_init.py`` starts it as
init, so the kernel ends with it.
"""

import ctypes
import errno
import json
import os
import time
import tty
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from .rtnetlink import IPRoute

_T = TypeVar("_T")

SERIAL_LINE: Final = "/dev/ttyS0"
# For each direction, the end of the wire with its root qdisc: packets that leave vec1 come from the role.
ENDS: Final = {"egress": "vec1", "ingress": "vec0"}
MODULES: Final = ("net/sched/act_mirred", "net/sched/sch_ingress", "net/sched/cls_u32", "net/sched/sch_netem")
_FINIT_MODULE: Final = 313  # x86-64, the only architecture with a packaged user-mode kernel
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Prepare the links, print a line, then answer until the kernel is killed."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    line = os.open(SERIAL_LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    load(MODULES)
    # These imports must come late: pyroute2 reads netem's unit of time from /proc, and the qdiscs are modules.
    from .rtnetlink import IPRoute  # noqa: PLC0415

    # Meanwhile, the links on the other side are being made. Anything that was printed before this would be lost.
    _write(line, {"waiting": True})
    _read(line)
    with IPRoute() as netlink:
        _join(netlink)
    _write(line, {"joined": True})
    while True:
        question = json.loads(_read(line))
        # Each call has a socket of its own: a response that one call has missed does not disturb the next.
        _write(line, _answer(IPRoute, question))


def _answer(open_netlink: "type[IPRoute]", question: Mapping[str, Any]) -> dict[str, Any]:
    try:
        with open_netlink() as netlink:
            return _shape(netlink, question["shape"])
    except Exception as error:  # noqa: BLE001 - the agent outside must learn of any error, and an init must not end
        return {"error": f"{type(error).__name__}: {error}"}


def _shape(netlink: "IPRoute", wanted: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    from . import netem  # noqa: PLC0415 - see main

    return {direction: netem.shape(netlink, end, wanted[direction]) for direction, end in ENDS.items()}


def _join(netlink: "IPRoute") -> None:
    from .netem import redirect  # noqa: PLC0415 - see main

    (role,), (network,) = (netlink.link_lookup(ifname=ENDS[direction]) for direction in ("ingress", "egress"))
    for index in (role, network):
        # Received frames are never merged into longer ones: netem must see what the sender sent. Disabling GRO
        # (ethtool -K gro off) would make the driver's buffers small, and disable its segmentation.
        netlink.link("set", index=index, gro_max_size=1)
        netlink.link("set", index=index, state="up", promiscuity=1)
    redirect(netlink, role, network)
    redirect(netlink, network, role)


def mount(kind: str, target: str) -> None:
    """Mount one of the kernel's file systems."""
    if _LIBC.mount(kind.encode(), target.encode(), kind.encode(), 0, None):
        raise OSError(ctypes.get_errno(), f"mounting {target}")


def load(modules: tuple[str, ...]) -> None:
    """Load modules without modprobe: starting a program costs this kernel several tens of milliseconds."""
    folder = Path("/usr/lib/uml/modules", os.uname().release, "kernel")
    for name in modules:
        file = os.open(folder / f"{name}.ko", os.O_RDONLY)
        if _LIBC.syscall(_FINIT_MODULE, file, b"", 0) and ctypes.get_errno() != errno.EEXIST:
            raise OSError(ctypes.get_errno(), f"loading {name}")
        os.close(file)


def _read(line: int) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        received += _insist(lambda: os.read(line, 4096))
    return received


def _write(line: int, answer: Mapping[str, Any]) -> None:
    rest = json.dumps(answer).encode() + b"\n"
    while rest:
        rest = rest[_insist(lambda: os.write(line, rest)) :]  # noqa: B023 - called before rest changes


def _insist(call: Callable[[], _T]) -> _T:
    """Repeat a system call that this kernel did not recognise.

    Under load, a user-mode kernel may lose the number of a call that a signal interrupts, and then return ENOSYS
    without having done anything.
    """
    while True:
        try:
            return call()
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
            time.sleep(0.001)
