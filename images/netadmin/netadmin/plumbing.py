"""Links that put a wire between the role and the network.

``"lay"`` adds two TAP links, with their other ends in the wire's kernel. At first, and again after ``"past"``, the
role's frames bypass the wire::

    role's sockets - eth0 - the lab's network            aside (TAP) - [ vec0  user-mode kernel  vec1 ] - wire (TAP)

``"through"`` gives the role's MAC address, IP addresses and routes to the first TAP link, which becomes ``eth0``. The
interface that had them is renamed to ``uplink``, and connected with the second TAP link in both directions::

    role's sockets - eth0 (TAP) - [ vec0  user-mode kernel  vec1 ] - wire (TAP) - uplink - the lab's network
"""

from collections.abc import Mapping
from typing import Any, Final

from .links import ASIDE, ROLE_LINK, UPLINK, WIRE_LINK
from .netem import redirect, stop_redirecting
from .rtnetlink import IPRoute

# Locally administered (IEEE 802). It is never visible: the interface that has it sends no frames of its own.
_IDLE_MAC: Final = "02:00:00:00:00:01"
_TAP: Final = 2
# The kernel itself adds the routes to an interface's own subnets (rtnetlink(7), RTPROT_KERNEL).
_BY_KERNEL: Final = 2
_MAIN_TABLE: Final = 254
_GLOBAL: Final = 0
_PERMANENT: Final = 0x80
_IPV4: Final = 2


def plumb(how: str) -> None:
    """Run the step "lay", "through" or "past" (NetlinkError: the kernel refused)."""
    with IPRoute() as ip:
        {"lay": lay, "through": lead_through, "past": lead_past}[how](ip)


def fix_neighbours(neighbours: Mapping[str, str]) -> None:
    """Set permanent MAC addresses, by IPv4 address, for neighbours of the role's link (NetlinkError: refused).

    netem corrupts frames where no Ethernet checksum catches it, including ARP's; a neighbour that was learnt from a
    corrupt reply is unreachable for half a minute.
    """
    with IPRoute() as ip:
        fix(ip, _index(ip, ROLE_LINK), neighbours)


def lay(ip: IPRoute) -> None:
    """Add the wire's links. A repeated call changes nothing."""
    if ip.link_lookup(ifname=WIRE_LINK):
        return
    (link,) = ip.get_links(_index(ip, ROLE_LINK))
    for name in (ASIDE, WIRE_LINK):
        # With a vnet header, frames longer than the MTU pass through the wire in one piece.
        ip.link("add", ifname=name, kind="tun", tun_type=_TAP, tun_vnet_hdr=1)
        ip.link("set", index=_index(ip, name), mtu=link.get_attr("IFLA_MTU"))
    # While a TAP link is down, the other end of the wire has no carrier.
    for name in (ASIDE, WIRE_LINK):
        ip.link("set", index=_index(ip, name), state="up")


def lead_through(ip: IPRoute) -> None:
    """Let the role's frames go through the wire. A repeated call changes nothing."""
    if ip.link_lookup(ifname=UPLINK):
        return
    _hand_over(ip, ROLE_LINK, becomes=UPLINK, to=ASIDE)
    uplink, wire = _index(ip, UPLINK), _index(ip, WIRE_LINK)
    ip.link("set", index=uplink, promiscuity=1)
    redirect(ip, uplink, wire)
    redirect(ip, wire, uplink)


def lead_past(ip: IPRoute) -> None:
    """Let the role's frames bypass the wire. A repeated call changes nothing."""
    if ip.link_lookup(ifname=ASIDE):
        return
    for name in (UPLINK, WIRE_LINK):
        stop_redirecting(ip, _index(ip, name))
    ip.link("set", index=_index(ip, UPLINK), promiscuity=0)
    _hand_over(ip, ROLE_LINK, becomes=ASIDE, to=UPLINK)


def _hand_over(ip: IPRoute, old: str, *, becomes: str, to: str) -> None:
    """Move name, MAC address, IP addresses, fixed neighbours and routes of a link to another one."""
    old_index, new_index = _index(ip, old), _index(ip, to)
    (link,) = ip.get_links(old_index)
    addresses = [
        {"address": item.get_attr("IFA_ADDRESS"), "prefixlen": item["prefixlen"], "family": item["family"]}
        for item in ip.get_addr(index=old_index)
        if item["scope"] == _GLOBAL
    ]
    routes = [
        route
        for route in ip.get_routes(oif=old_index, table=_MAIN_TABLE)
        if route["proto"] != _BY_KERNEL and route.get_attr("RTA_OIF") == old_index
    ]
    neighbours = fixed(ip, old_index)
    for index in (old_index, new_index):
        ip.link("set", index=index, state="down")
    ip.flush_addr(index=old_index)
    ip.link("set", index=old_index, ifname=becomes, address=_IDLE_MAC)
    ip.link("set", index=new_index, ifname=old, address=link.get_attr("IFLA_ADDRESS"))
    for address in addresses:
        ip.addr("add", index=new_index, **address)
    for index in (old_index, new_index):
        ip.link("set", index=index, state="up")
    fix(ip, new_index, neighbours)
    for route in routes:
        ip.route("add", **_route(route, oif=new_index))


def _route(route: Any, *, oif: int) -> dict[str, Any]:
    target = route.get_attr("RTA_DST")
    wanted: dict[str, Any] = {"oif": oif, "family": route["family"]}
    wanted["dst"] = f"{target}/{route['dst_len']}" if target else "default"
    if gateway := route.get_attr("RTA_GATEWAY"):
        wanted["gateway"] = gateway
    return wanted


def _index(ip: IPRoute, name: str) -> int:
    (index,) = ip.link_lookup(ifname=name)
    return int(index)


def fix(ip: IPRoute, index: int, neighbours: Mapping[str, str]) -> None:
    """Set MAC addresses by IPv4 address for an interface (its index), so that ARP never asks for them."""
    for address, mac in neighbours.items():
        ip.neigh("replace", dst=address, lladdr=mac, ifindex=index, state=_PERMANENT)


def fixed(ip: IPRoute, index: int) -> dict[str, str]:
    """Return what :func:`fix` has set for an interface."""
    entries: list[Any] = list(ip.get_neighbours(family=_IPV4, ifindex=index))
    return {
        entry.get_attr("NDA_DST"): entry.get_attr("NDA_LLADDR") for entry in entries if entry["state"] == _PERMANENT
    }
