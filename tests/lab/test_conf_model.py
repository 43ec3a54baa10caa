"""The model of a configuration agrees with nginx: settings in effect, locations, servers and sockets.

By default, the tests use one version and a sample; `./lab test tests/lab/test_conf_model.py -s` compares everything on
all versions, and prints the number of questions of each kind.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages, EnsureImages
from tests.lab.nginx_judge import Judge, judge_of
from tests.support import (
    generated_hosts,
    generated_inheritance,
    generated_listens,
    generated_locations,
    judged_inheritance,
    judged_listens,
    judged_locations,
)
from tests.support.compared_model import Compared
from tests.support.planted_faults import FAULTS, Fault
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.nginx_changes import LAB_VERSIONS, STABLE_VERSIONS
from tuneproof.wording import as_numbers

pytestmark = [pytest.mark.engine]

SEED: Final = 47
MOST_UNKNOWN: Final = 0.02
"""Share of the questions that the model may leave unanswered."""
LEAST_OF_EACH: Final = 100
"""Each construct outside RARE must occur in at least this many questions, except in a sample."""
LEAST_REFUSED: Final = 0.25
"""The least share of the sets of listens that nginx must refuse."""
# These may be rarer: questions that the model does not answer, each refusal (a set has at most one), and constructs
# that only some versions support.
RARE: Final = (
    "unknown: ",
    "refused: ",
    "listen quic",
    "listen multipath",
    "listen spdy",
    "inet datagrams",
    "inet6 datagrams",
    "unix datagrams",
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """The numbers of questions for one version."""

    location_servers: int
    requests_each: int
    inheritance_servers: int
    timeout_servers: int
    host_ports: int
    listen_sets: int


SAMPLE: Final = Size(
    location_servers=40, requests_each=15, inheritance_servers=3, timeout_servers=1, host_ports=15, listen_sets=30
)
ALL: Final = Size(
    location_servers=420, requests_each=25, inheritance_servers=30, timeout_servers=12, host_ports=100, listen_sets=1400
)
# The newest stable version answers the most questions, since it has directives that older ones lack.
TIERS: Final = [
    pytest.param(STABLE_VERSIONS[-1], SAMPLE, id=f"sample-{STABLE_VERSIONS[-1]}"),
    *(pytest.param(version, ALL, id=f"all-{version}", marks=pytest.mark.slow) for version in LAB_VERSIONS),
]
Compare = Callable[[], Compared]


class Asked:
    """nginx's answers to all questions, with which the model can be compared more than once."""

    def __init__(self, judge: Judge, size: Size) -> None:
        version = judge.version
        locations = generated_locations.draw(SEED, servers=size.location_servers, requests=size.requests_each)
        hosts = generated_hosts.draw(SEED, ports=size.host_ports, hosts_each=30)
        sets = [generated_listens.draw(SEED, number, version) for number in range(size.listen_sets)]
        inheritance = [
            generated_inheritance.draw(
                SEED, kind, version, servers=size.timeout_servers if kind == "timeouts" else size.inheritance_servers
            )
            for kind in generated_inheritance.KINDS
        ]
        to_locations, to_hosts = judge.locations(locations), judge.hosts(hosts)
        to_settings = [(drawn, judge.inheritance(drawn)) for drawn in inheritance]
        to_sets = list(zip(sets, judge.listens(sets), strict=True))
        self.compare: dict[str, Compare] = {
            "locations": lambda: judged_locations.compare(locations, to_locations, version),
            "hosts": lambda: generated_hosts.compare(hosts, to_hosts, version),
            "inheritance": lambda: _sum(
                judged_inheritance.compare(drawn, answers, logs, version) for drawn, (answers, logs) in to_settings
            ),
            "listens": lambda: _sum(judged_listens.compare(drawn, seen, version) for drawn, seen in to_sets),
        }


def _sum(parts: Iterator[Compared]) -> Compared:
    total = Compared()
    for part in parts:
        total.add(part)
    return total


@pytest.fixture(scope="module")
def asked(
    engine: docker.DockerClient, ensure: EnsureImages, images: BuiltImages, lab_session: Session
) -> Iterator[Callable[[str, Size], Asked]]:
    """Ask a version of nginx all questions of a size, only once for each version and size."""
    found: dict[tuple[str, Size], Asked] = {}

    def ask(version: str, size: Size) -> Asked:
        if (version, size) not in found:
            image = subject_images([version])[version]
            ensure([image])
            with judge_of(engine, image.tag, images.roles["backend"], lab_session, as_numbers(version)) as judge:
                found[version, size] = Asked(judge, size)
        return found[version, size]

    yield ask
    found.clear()


@pytest.mark.parametrize("part", ["locations", "hosts", "inheritance", "listens"])
@pytest.mark.parametrize(("version", "size"), TIERS)
def test_the_model_agrees_with_nginx(version: str, size: Size, part: str, asked: Callable[[str, Size], Asked]) -> None:
    found = asked(version, size).compare[part]()
    print(f"\nnginx {version}, {part}: {found}")  # noqa: T201 - the number of questions belongs to the result
    assert found.disagreements == []
    assert found.unknown_share <= MOST_UNKNOWN, found.unknown
    if size is ALL:
        rare = {name: count for name, count in found.constructs.items() if count < LEAST_OF_EACH}
        assert [name for name in rare if not name.startswith(RARE)] == []
    if part == "listens":
        assert found.constructs["refused"] >= LEAST_REFUSED * found.questions


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_planted_fault_is_found(
    fault: Fault, asked: Callable[[str, Size], Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = asked(STABLE_VERSIONS[-1], SAMPLE)
    monkeypatch.setattr(fault.owner, fault.attribute, fault.replacement)
    assert known.compare[fault.part]().disagreements
