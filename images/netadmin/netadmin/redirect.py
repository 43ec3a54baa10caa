"""Frames that arrive at one interface leave through another."""

from .rtnetlink import IPRoute

_INGRESS = 0xFFFF_FFF2
_EVERY_PROTOCOL = 0x0003


def redirect(ip: IPRoute, source: int, target: int) -> None:
    """Send whatever arrives at ``source`` out of ``target`` (interface indices), and nothing of it up the stack.

    See tc-mirred(8). The filter is u32, which kernels without matchall have, too.
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
    """Take back what :func:`redirect` did to an interface (its index)."""
    ip.tc("del", "clsact", source)
