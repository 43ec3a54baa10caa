"""A lab's containers reach only their own lab: not the engine's host, not other labs, and not the outside."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from fixtures.engine import BuiltImages
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import find_endpoint
from tuneproof.lab.topology import container
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.lab.topology.ways_out import ways_out

pytestmark = pytest.mark.engine

# Prints the addresses that accept or refuse a connection; all are tried at once, since the others time out.
_REACHED: Final = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def answers(place):
    address, port = place.rsplit(":", 1)
    try:
        socket.create_connection((address, int(port)), timeout=1.5).close()
    except ConnectionRefusedError:
        pass
    except OSError:
        return False
    return True
places = sys.argv[1:]
with ThreadPoolExecutor(len(places)) as pool:
    print(json.dumps([place for place, reached in zip(places, pool.map(answers, places)) if reached]))
"""


@pytest.fixture
def service() -> Iterator[int]:
    """Start a service on all addresses of this host; yield its port."""
    if not find_endpoint().is_local:
        pytest.skip("the engine's host is another machine")
    with socket.create_server(("0.0.0.0", 0)) as server:  # noqa: S104 - the test needs all addresses
        yield server.getsockname()[1]


_SERVES: Final = (
    "import socket; s = socket.create_server(('0.0.0.0', 8000)); print('Serving', flush=True)\nwhile True: s.accept()"
)
_NAMES: Final = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 53))
print("Serving", flush=True)
while True:
    asked, who = s.recvfrom(512)
    answer = struct.pack(">3HIH", 0xC00C, 2, 1, 60, 1) + bytes(1)
    s.sendto(asked[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0) + asked[12:17] + answer, who)
"""
_LOW_PORTS: Final = {"net.ipv4.ip_unprivileged_port_start": "0"}


def serving(name: str, images: BuiltImages, program: str, **options: Any) -> RoleSpec:
    command = ("python3", "-c", program)
    return RoleSpec(name=name, role=Role.BACKEND, image=images.roles["backend"], command=command, **options)


def client(images: BuiltImages) -> RoleSpec:
    return RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"])


def test_only_containers_of_the_same_lab_answer(images: BuiltImages, lab_session: Session, service: int) -> None:
    """The host (gateways and outward address), a cloud's metadata, another lab and the outside do not answer."""
    with Lab(lab_session) as other, Lab(lab_session) as lab:
        lab.start([client(images)])
        gateways = lab.gateways()
        assert gateways
        # This check comes first: the engine gives up on a name after four seconds, and removes no container until then.
        assert ways_out(lab["client"], gateways) == []
        other.start([client(images)])
        lab.start([serving("beside", images, _SERVES)])
        places = [f"{address}:{service}" for address in (*gateways, *other.gateways(), *own_addresses())]
        places += ["169.254.169.254:80", "192.0.2.7:53", f"{other['client'].address()}:9"]
        inside = f"{lab['beside'].address()}:8000"
        lab["beside"].wait_for_log("Serving")
        assert json.loads(lab["client"].run(["python3", "-c", _REACHED, *places, inside])) == [inside]
        assert lab["client"].run(["getent", "hosts", "beside"]).split()[1] == b"beside"


def own_addresses() -> list[str]:
    """Return this host's address towards the outside, without sending anything; empty if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        try:
            looking.connect(("192.0.2.1", 9))
        except OSError:
            return []
        return [looking.getsockname()[0]]


@pytest.mark.slow
def test_names_that_the_engine_forwards_are_noticed(
    images: BuiltImages, lab_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server in the lab stands in for one outside."""
    with Lab(lab_session) as lab:
        lab.start([client(images), serving("names", images, _NAMES, sysctls=_LOW_PORTS)])
        lab["names"].wait_for_log("Serving")
        assert ways_out(lab["client"], ()) == []
        monkeypatch.setattr(container, "NO_DNS", lab["names"].address())
        lab.start([replace(client(images), name="asking")])
        assert ways_out(lab["asking"], ()) == ["names outside the lab are resolved"]
