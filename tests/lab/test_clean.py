"""``./lab clean`` on the real engine: images and containers that others made from the project's images stay."""

import io
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
from docker.errors import ImageNotFound

from fixtures.engine import BuiltImages
from tests.support.engine_contract import CONTRACT, LABEL, Engine
from tuneproof.lab.engine.labels import BUILD, IMAGE, LAYER_FILTER, PROJECT_FILTER, SESSION, Session
from tuneproof.lab.engine.sweep import Removed, remove_dead_sessions, remove_everything, remove_session
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec

pytestmark = pytest.mark.engine

_SLEEPS = ["sleep", "infinity"]


class Corner:
    """The part of an engine's contents that a test made; the rest is neither shown nor removed."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self._api = engine.api
        self.mine: set[str] = set()
        """Ids of containers, images and networks, and names of images."""

    @property
    def client(self) -> docker.DockerClient:
        return cast("docker.DockerClient", SimpleNamespace(api=self))

    def _seen(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [item for item in found if item["Id"] in self.mine]

    def containers(self, **options: Any) -> list[dict[str, Any]]:
        return self._seen(self._api.containers(**options))

    def networks(self, **options: Any) -> list[dict[str, Any]]:
        return self._seen(self._api.networks(**options))

    def images(self, **options: Any) -> list[dict[str, Any]]:
        found = self._seen(self._api.images(**options))
        return [{**item, "RepoTags": [name for name in item["RepoTags"] or () if name in self.mine]} for item in found]

    def volumes(self, **_: Any) -> dict[str, Any]:
        return {"Volumes": None}

    def remove_container(self, name: str, **options: bool) -> None:
        self._remove(self._api.remove_container, name, **options)

    def remove_network(self, name: str) -> None:
        self._remove(self._api.remove_network, name)

    def remove_image(self, name: str, **options: bool) -> None:
        self._remove(self._api.remove_image, name, **options)

    def _remove(self, remove: Callable[..., Any], name: str, **options: bool) -> None:
        assert name in self.mine
        remove(name, **options)


class Household:
    """Images and containers of a user and of the project, with unique names."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self.engine = engine
        self.corner = Corner(engine)
        self.token = uuid.uuid4().hex[:12]

    def build(self, name: str, *lines: str, **options: Any) -> str:
        """Build an image with a name, on the test's label, with all layers new."""
        known = {item["Id"] for item in self.engine.api.images(all=True)}
        dockerfile = "\n".join([*lines, f"ENV UNIQUE={self.token}{name}"])
        self.engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name, rm=True, **options)
        layers: list[dict[str, Any]] = self.engine.images.get(name).history()
        self.corner.mine |= {name} | {item["Id"] for item in layers if item["Id"] not in known}
        return name

    def run(self, image: str, **options: Any) -> str:
        """Start a container; return its id."""
        container = self.engine.containers.run(image, _SLEEPS, detach=True, network_disabled=True, **options)
        self.corner.mine.add(str(container.id))
        return str(container.id)

    def is_running(self, container_id: str) -> bool:
        return bool(self.engine.api.inspect_container(container_id)["State"]["Running"])

    def holds(self, image: str) -> bool:
        try:
            self.engine.images.get(image)
        except ImageNotFound:
            return False
        return True

    def remove(self) -> None:
        """Remove what is left of a test."""
        for item in self.corner.containers(all=True):
            self.engine.api.remove_container(item["Id"], force=True)
        for name in sorted(name for name in self.corner.mine if ":" in name and not name.startswith("sha256:")):
            if self.holds(name):
                self.engine.api.remove_image(name)


class Rented:
    """The engine, as tests/support/engine_contract.py uses it."""

    def __init__(self, household: Household, base: str) -> None:
        self._household = household
        self._base = base
        self.api = household.engine.api
        self.label = f"{LABEL}.{household.token}"

    def image(self, name: str, labels: Mapping[str, str], *, on: str = "") -> str:
        self._household.build(name, f"FROM {on or self._base}", labels=dict(labels))
        return str(self._household.engine.images.get(name).id)

    def container(self, image: str, labels: Mapping[str, str]) -> str:
        made = str(self.api.create_container(image, labels=dict(labels))["Id"])
        self._household.corner.mine.add(made)
        return made

    def network(self, labels: Mapping[str, str]) -> str:
        return str(self.api.create_network(self._household.token, labels=dict(labels), internal=True)["Id"])

    def remove(self) -> None:
        """Remove everything that the contract's checks made."""
        for item in self.api.containers(all=True, filters={"label": self.label}):
            self.api.remove_container(item["Id"], force=True)
        for item in self.api.networks(filters={"label": self.label}):
            self.api.remove_network(item["Id"])


@pytest.fixture
def household(engine: docker.DockerClient) -> Iterator[Household]:
    made = Household(engine)
    yield made
    made.remove()


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_docker_keeps_the_contract(check: Callable[[Engine], None], household: Household, images: BuiltImages) -> None:
    """The unit tests' fake engine keeps the same contract: tests/unit/support/test_fake_engine.py."""
    rented = Rented(household, images.roles["client"])
    try:
        check(rented)
    finally:
        rented.remove()


def test_clean_removes_what_the_lab_made_and_keeps_what_others_built_on_it(
    household: Household, images: BuiltImages, lab_session: Session
) -> None:
    """The user's images, built FROM the base and FROM an image of the lab, stay, and so do their containers."""
    token, client = household.token, images.roles["client"]
    # If no registry answered, earlier versions imported the base like this: with Debian's name and the project's label.
    old_base = household.build(f"debian:{token}", f"FROM {client}", f"LABEL {PROJECT_FILTER}")
    ours = household.build(
        f"tuneproof/client:bookworm-{token}", f"FROM {old_base}", f"LABEL {LAYER_FILTER}", labels={BUILD: IMAGE}
    )
    app = household.build(f"users/app:{token}", f"FROM {old_base}", "RUN true")
    extended = household.build(f"users/client:{token}", f"FROM {ours}", "RUN true")
    inheriting = household.engine.images.get(extended).labels
    assert inheriting.items() >= {BUILD: IMAGE, **dict([PROJECT_FILTER.split("=")])}.items()
    theirs = [household.run(app, name=f"users-db-{token}"), household.run(extended)]
    made = household.run(client, labels=lab_session.labels)
    assert remove_everything(household.corner.client) == Removed(containers=1, images=1)
    assert all(household.is_running(container) for container in theirs)
    assert [household.holds(image) for image in (old_base, ours, app, extended)] == [True, False, True, True]
    assert not household.engine.containers.list(all=True, filters={"id": made})


def test_clean_removes_what_an_unfinished_build_left(household: Household, images: BuiltImages) -> None:
    """An unfinished build leaves unnamed layers, and the container of the interrupted step."""
    stage = household.build(f"stage:{household.token}", f"FROM {images.roles['client']}", f"LABEL {LAYER_FILTER}")
    step = household.run(stage)
    layer = str(household.engine.images.get(stage).id)
    household.engine.api.remove_image(stage, force=True)
    removed = remove_everything(household.corner.client)
    assert removed.containers == 1
    assert removed.refused == ()
    assert not household.engine.containers.list(all=True, filters={"id": step})
    assert not household.holds(layer)


def test_an_image_that_a_user_committed_from_a_lab_container_outlives_the_session(
    household: Household, images: BuiltImages
) -> None:
    """The image, and therefore its container, carries all labels of a session that has ended."""
    session = Session()
    with Lab(session) as lab:
        lab.start([RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"])])
        name = f"users/kept:{household.token}"
        committed = household.engine.containers.get(lab["client"].id).commit(*name.rsplit(":", 1))
        household.corner.mine |= {name, str(committed.id)}
    theirs = household.run(name)
    assert household.engine.api.inspect_container(theirs)["Config"]["Labels"][SESSION] == session.id
    remove_session(household.engine, session.id)
    remove_dead_sessions(household.corner.client)
    assert remove_everything(household.corner.client) == Removed()
    assert household.is_running(theirs)
