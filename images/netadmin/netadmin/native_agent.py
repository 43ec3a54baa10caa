"""The native shaper for the agent. Netlink is imported only when needed: most agents shape no link."""

from collections.abc import Mapping
from typing import Any


class NativeError(Exception):
    """The kernel did not do what was asked."""


def why_impossible() -> str:
    """Return why this kernel cannot shape links; empty if it can."""
    from . import native  # noqa: PLC0415 - see the module's docstring
    from .rtnetlink import IPRoute  # noqa: PLC0415

    with IPRoute() as netlink:
        return native.why_impossible(netlink)


def shape(interface: str, wanted: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Shape both directions of an interface; return what was read back (NativeError: it differs)."""
    from . import native, netem  # noqa: PLC0415 - see the module's docstring
    from .rtnetlink import IPRoute, NetlinkError  # noqa: PLC0415

    try:
        with IPRoute() as netlink:
            return dict(native.shape(netlink, interface, egress=wanted["egress"], ingress=wanted["ingress"]))
    except (NetlinkError, netem.ShapingError) as error:
        raise NativeError(f"{interface} cannot be shaped: {error}") from error
