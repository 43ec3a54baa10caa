"""A capture records how many packets the kernel dropped: they were on the wire, but the file lacks them."""

from io import BytesIO
from typing import Final

import pytest

from fixtures.engine import BuiltImages
from tuneproof.explain.parse.capture.framing import PacketReader
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.agent import agent_in, owner_name
from tuneproof.lab.network.shaped_links import companion_spec
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec

pytestmark = pytest.mark.engine

_CLIENT: Final = "client"
_MOST_SENT: Final = 400_000
# Suspends the capture, sends packets until its buffer of 64 MiB is full (at most _MOST_SENT), then 1000 more, and
# resumes the capture.
_SENDS: Final = f"""
import os, signal, socket, sys
with open("/proc/net/packet") as table:
    (captured,) = [line.split()[-1] for line in table.readlines()[1:]]
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        files = [os.readlink(f"/proc/{{name}}/fd/{{number}}") for number in os.listdir(f"/proc/{{name}}/fd")]
    except OSError:
        # The process belongs to another user, or has just ended.
        continue
    if f"socket:[{{captured}}]" in files:
        capture = int(name)
def is_full():
    with open("/proc/net/packet") as table:
        return any(int(line.split()[6]) >= 64 << 20 for line in table.readlines()[1:])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
os.kill(capture, signal.SIGSTOP)
for number in range({_MOST_SENT}):
    out.sendto(bytes(1000), (sys.argv[1], 9))
    if number % 1000 == 0 and is_full():
        break
for _ in range(1000):
    out.sendto(bytes(1000), (sys.argv[1], 9))
os.kill(capture, signal.SIGCONT)
print(number + 1001)
"""


def test_packets_dropped_by_the_kernel_are_counted(images: BuiltImages, lab_session: Session) -> None:
    with Lab(lab_session) as lab:
        specs = [RoleSpec(name=name, role=Role.CLIENT, image=images.roles["client"]) for name in (_CLIENT, "beside")]
        lab.start([*specs, companion_spec(_CLIENT, image=images.roles["netadmin"], cpuset="")])
        beside = lab[owner_name(_CLIENT)]
        agent_in(beside).start_capture("udp port 9", 64)
        sent = int(beside.run(["python3", "-c", _SENDS, lab["beside"].address()]))
        reader = PacketReader(BytesIO(beside.fetch(agent_in(beside).stop_capture())))
        captured = sum(1 for _ in reader)
    assert reader.truncated is None
    assert reader.dropped_packets > 0
    assert captured + reader.dropped_packets == sent
