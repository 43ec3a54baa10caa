"""Shapes an interface of this network namespace with netem, and redirects frames, both natively and in a wire.

See tc-netem(8), and net/sched/sch_netem.c for how the kernel uses the numbers.
"""

from collections.abc import Mapping
from typing import Any, Final

from .rtnetlink import IPRoute, tick_in_usec, time2tick

# The handle identifies our own qdisc ("7450:" in tc's notation); one with another handle belongs to somebody else.
HANDLE: Final = 0x7450_0000
_ROOT: Final = 0xFFFF_FFFF
_INGRESS: Final = 0xFFFF_FFF2
_EVERY_PROTOCOL: Final = 0x0003
_ALWAYS: Final = 0xFFFF_FFFF
NOTHING: Final = {
    "delay_us": 0,
    "jitter_us": 0,
    "loss_pct": 0.0,
    "duplicate_pct": 0.0,
    "reorder_pct": 0.0,
    "corrupt_pct": 0.0,
    "rate_bytes_per_s": 0,
    "limit_packets": 0,
}


class ShapingError(Exception):
    """The interface was not shaped as asked; it has its earlier qdisc, or none."""


def shape(ip: IPRoute, interface: str, impairment: Mapping[str, float]) -> dict[str, float]:
    """Put an impairment on packets that leave an interface, and read it back.

    The qdisc of an earlier call is removed first: changing a qdisc keeps everything that the change does not name, such
    as a rate.

    impairment: delay_us, jitter_us, loss_pct, duplicate_pct, reorder_pct, corrupt_pct, rate_bytes_per_s (0: no limit)
    and limit_packets; a limit alone is no impairment. Returns what the kernel reports, under the same names; all zero
    if there is none. Raises ShapingError: there is no such interface; it has somebody else's qdisc; or the kernel has
    set something else.
    """
    index = _index(ip, interface)
    clear(ip, interface)
    if not _does_something(impairment):
        return dict(NOTHING)
    ip.tc("add", "netem", index, handle=HANDLE, **_arguments(impairment))
    found = read(ip, interface)
    if _raw(found) != _raw(impairment):
        clear(ip, interface)
        raise ShapingError(f"{interface}: asked for {_raw(impairment)}, the kernel has {_raw(found)}")
    return found


def clear(ip: IPRoute, interface: str) -> None:
    """Remove our own qdisc from an interface (ShapingError: the interface has somebody else's, or does not exist)."""
    index = _index(ip, interface)
    root = _root(ip, index)
    # The kernel's own default has no handle, and is replaced by ours.
    if root is None or root["handle"] == 0:
        return
    if root["handle"] != HANDLE:
        kind = root.get_attr("TCA_KIND")
        raise ShapingError(f"{interface} carries a {kind} qdisc of somebody else ({root['handle'] >> 16:x}:)")
    ip.tc("del", index=index, handle=HANDLE, root=True)


def read(ip: IPRoute, interface: str) -> dict[str, float]:
    """Return the settings of our qdisc, as :func:`shape` takes them; all zero if there is none."""
    root = _root(ip, _index(ip, interface))
    if root is None or root["handle"] != HANDLE or root.get_attr("TCA_KIND") != "netem":
        return dict(NOTHING)
    options = root.get_attr("TCA_OPTIONS")
    reorder = options.get_attr("TCA_NETEM_REORDER")
    corrupt = options.get_attr("TCA_NETEM_CORRUPT")
    rate = options.get_attr("TCA_NETEM_RATE")
    return {
        "delay_us": round(options["delay"] / tick_in_usec),
        "jitter_us": round(options["jitter"] / tick_in_usec),
        "loss_pct": _percent(options["loss"]),
        "duplicate_pct": _percent(options["duplicate"]),
        "reorder_pct": _percent(reorder["prob_reorder"]) if reorder else 0.0,
        "corrupt_pct": _percent(corrupt["prob_corrupt"]) if corrupt else 0.0,
        "rate_bytes_per_s": rate["rate"] if rate else 0,
        "limit_packets": options["limit"],
    }


def _index(ip: IPRoute, interface: str) -> int:
    found = ip.link_lookup(ifname=interface)
    if not found:
        raise ShapingError(f"there is no interface {interface}")
    return int(found[0])


def _root(ip: IPRoute, index: int) -> Any:
    return next((qdisc for qdisc in ip.get_qdiscs(index=index) if qdisc["parent"] == _ROOT), None)


def _does_something(impairment: Mapping[str, float]) -> bool:
    return any(value for name, value in impairment.items() if name != "limit_packets")


def _arguments(impairment: Mapping[str, float]) -> dict[str, float]:
    arguments = {
        "delay": impairment["delay_us"],
        "jitter": impairment["jitter_us"],
        "loss": impairment["loss_pct"],
        # pyroute2 converts the other shares, but passes this one to the kernel unchanged.
        "duplicate": _share(impairment["duplicate_pct"]),
        "prob_reorder": impairment["reorder_pct"],
        "prob_corrupt": impairment["corrupt_pct"],
        "limit": int(impairment["limit_packets"]),
    }
    if impairment["rate_bytes_per_s"]:
        arguments["rate"] = int(impairment["rate_bytes_per_s"])
    return arguments


def _raw(impairment: Mapping[str, float]) -> dict[str, int]:
    """Return the numbers as the kernel stores them, so that requested and actual values compare exactly."""
    return {
        "delay": time2tick(impairment["delay_us"]),
        "jitter": time2tick(impairment["jitter_us"]),
        **{name: _share(impairment[name]) for name in ("loss_pct", "duplicate_pct", "reorder_pct", "corrupt_pct")},
        "rate": int(impairment["rate_bytes_per_s"]),
        "limit": int(impairment["limit_packets"]),
    }


def _share(percent: float) -> int:
    """Return a share as a 32-bit number; all ones mean always."""
    return int(_ALWAYS * percent / 100)


def _percent(share: int) -> float:
    return share * 100 / _ALWAYS


def redirect(ip: IPRoute, source: int, target: int) -> None:
    """Send everything that arrives at ``source`` out of ``target`` (interface indices), and none of it up the stack.

    See tc-mirred(8). The filter is u32, which kernels without matchall also have.
    """
    ip.tc("add", "clsact", source)
    ip.tc(
        "add-filter",
        "u32",
        source,
        parent=_INGRESS,
        prio=1,
        protocol=_EVERY_PROTOCOL,
        target=0x1_0000,
        keys=["0x0/0x0+0"],
        action={"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": target},
    )


def stop_redirecting(ip: IPRoute, source: int) -> None:
    """Undo what :func:`redirect` did to an interface (its index)."""
    ip.tc("del", "clsact", source)
