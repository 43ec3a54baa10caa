"""Searches for ways out of a lab's network from inside: addresses of the engine's host, and names outside the lab."""

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer

# An existing address answers within a millisecond; the kernel repeats its ARP query after a second (arp(7)).
_ANSWERS_WITHIN_S: Final = 0.7
_COMPLETE: Final = 0x2
# All probes are sent at once, with one wait after them. The DNS query asks for the root's name servers, so it reveals
# nothing.
_LOOK: Final = f"""\
import json, socket, struct, sys, time
routes = [line.split() for line in open("/proc/net/route").readlines()[1:]]
found = {{socket.inet_ntoa(struct.pack("<L", int(route[2], 16))) for route in routes if int(route[2], 16)}}
names = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")]
probes, queries = [], []
for address in found | set(sys.argv[1:]):
    probe = socket.socket()
    probe.setblocking(False)
    probe.connect_ex((address, 9))
    probes.append(probe)
for server in names:
    query = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
    query.setblocking(False)
    try:
        query.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\\0" + struct.pack(">2H", 2, 1), (server, 53))
    except OSError:
        continue
    queries.append(query)
time.sleep({_ANSWERS_WITHIN_S})
neighbours = [line.split() for line in open("/proc/net/arp").readlines()[1:]]
ways = [line[0] for line in neighbours if int(line[2], 16) & {_COMPLETE} and line[0] in found | set(sys.argv[1:])]
for query in queries:
    try:
        answer = query.recv(65535)
    except OSError:
        continue
    if len(answer) > 8 and struct.unpack(">H", answer[6:8])[0]:
        ways.append("names")
print(json.dumps(ways))
"""


def ways_out(container: "LabContainer", gateways: tuple[str, ...]) -> list[str]:
    """Return the ways out of a container's network, in words; empty if there are none.

    gateways: addresses that the engine may have in that network. Raises LabError: the container has no Python, or the
    search failed.
    """
    ways = json.loads(container.run(["python3", "-c", _LOOK, *gateways]))
    words = [f"the engine's host answers at {way}" for way in ways if way != "names"]
    return [*words, *(["names outside the lab are resolved"] if "names" in ways else [])]
