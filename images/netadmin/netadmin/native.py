"""Netem in this kernel: for packets that leave the role's interface and, with an ifb link, for incoming ones."""

from collections.abc import Mapping
from typing import Final

from . import netem
from .links import INGRESS
from .rtnetlink import IPRoute, NetlinkError

_TRIAL_LINK: Final = "netem-trial"
_HARMLESS: Final = {
    "delay_us": 1000,
    "jitter_us": 0,
    "loss_pct": 0.0,
    "duplicate_pct": 0.0,
    "reorder_pct": 0.0,
    "corrupt_pct": 0.0,
    "rate_bytes_per_s": 0,
    "limit_packets": 1000,
}


def why_impossible(ip: IPRoute) -> str:
    """Try netem on a temporary ifb link; return the error: module lists show neither built-in modules nor rights."""
    try:
        ip.link("add", ifname=_TRIAL_LINK, kind="ifb")
    except NetlinkError as error:
        return f"no ifb link can be made ({error.args[-1]})"
    try:
        netem.shape(ip, _TRIAL_LINK, _HARMLESS)
    except NetlinkError as error:
        return f"a link does not accept netem ({error.args[-1]})"
    except netem.ShapingError as error:
        return str(error)
    finally:
        ip.link("del", ifname=_TRIAL_LINK)
    return ""


def shape(
    ip: IPRoute, interface: str, *, egress: Mapping[str, float], ingress: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Shape both directions of an interface; read both back."""
    if not ip.link_lookup(ifname=INGRESS):
        (source,) = ip.link_lookup(ifname=interface)
        ip.link("add", ifname=INGRESS, kind="ifb")
        (target,) = ip.link_lookup(ifname=INGRESS)
        ip.link("set", index=target, state="up")
        netem.redirect(ip, source, target)
    return {"egress": netem.shape(ip, interface, egress), "ingress": netem.shape(ip, INGRESS, ingress)}
