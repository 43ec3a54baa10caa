"""Netem in this kernel shapes packets that leave the role's interface and, with an ifb link, incoming ones.

Netlink is imported only when needed: most agents shape no link.
"""

from collections.abc import Mapping
from typing import Final

from .links import INGRESS

_TRIAL_LINK: Final = "netem-trial"


def why_impossible() -> str:
    """Try netem on a temporary ifb link; return any error. Module lists show neither built-in ones nor privileges."""
    from . import netem  # noqa: PLC0415 - see the module's docstring
    from .rtnetlink import IPRoute, NetlinkError  # noqa: PLC0415

    with IPRoute() as ip:
        try:
            ip.link("add", ifname=_TRIAL_LINK, kind="ifb")
        except NetlinkError as error:
            return f"no ifb link can be made ({error.args[-1]})"
        try:
            netem.shape(ip, _TRIAL_LINK, {**netem.NOTHING, "delay_us": 1000, "limit_packets": 1000})
        except NetlinkError as error:
            return f"a link does not accept netem ({error.args[-1]})"
        except netem.ShapingError as error:
            return str(error)
        finally:
            ip.link("del", ifname=_TRIAL_LINK)
    return ""


def shape(interface: str, wanted: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Shape both directions of an interface; return what was read back (RuntimeError: the kernel refused it)."""
    from . import netem  # noqa: PLC0415 - see the module's docstring
    from .rtnetlink import IPRoute, NetlinkError  # noqa: PLC0415

    try:
        with IPRoute() as ip:
            if not ip.link_lookup(ifname=INGRESS):
                (source,) = ip.link_lookup(ifname=interface)
                ip.link("add", ifname=INGRESS, kind="ifb")
                (target,) = ip.link_lookup(ifname=INGRESS)
                ip.link("set", index=target, state="up")
                netem.redirect(ip, source, target)
            links = {"egress": interface, "ingress": INGRESS}
            return {way: netem.shape(ip, link, wanted[way]) for way, link in links.items()}
    except (NetlinkError, netem.ShapingError) as error:
        raise RuntimeError(f"{interface} cannot be shaped: {error}") from error
