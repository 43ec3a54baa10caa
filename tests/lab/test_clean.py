"""``./lab clean`` on the real engine removes the lab's resources, and keeps what others made from its images."""

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


class OwnView:
    """An engine's client that lists and removes only resources that a test made."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self._api = engine.api
        self.mine: set[str] = set()
        """Ids of containers and images, and names of images."""

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


class Resources:
    """Makes images and containers of a user and of the project, with unique names."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self.engine = engine
        self.view = OwnView(engine)
        self.token = uuid.uuid4().hex[:12]

    def build(self, name: str, *lines: str, **options: Any) -> str:
        """Build an image with a new last layer; return its name."""
        known = {item["Id"] for item in self.engine.api.images(all=True)}
        dockerfile = "\n".join([*lines, f"ENV UNIQUE={self.token}{name}"])
        self.engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name, rm=True, **options)
        layers: list[dict[str, Any]] = self.engine.images.get(name).history()
        self.view.mine |= {name} | {item["Id"] for item in layers if item["Id"] not in known}
        return name

    def run(self, image: str, **options: Any) -> str:
        """Start a container; return its id."""
        container = self.engine.containers.run(image, _SLEEPS, detach=True, network_disabled=True, **options)
        self.view.mine.add(str(container.id))
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
        for item in self.view.containers(all=True):
            self.engine.api.remove_container(item["Id"], force=True)
        for name in sorted(name for name in self.view.mine if ":" in name and not name.startswith("sha256:")):
            if self.holds(name):
                self.engine.api.remove_image(name)


class RealEngine:
    """The real engine, with the functions that tests/support/engine_contract.py needs."""

    def __init__(self, resources: Resources, base: str) -> None:
        self._resources = resources
        self._base = base
        self.api = resources.engine.api
        self.label = f"{LABEL}.{resources.token}"

    def image(self, name: str, labels: Mapping[str, str], *, on: str = "") -> str:
        self._resources.build(name, f"FROM {on or self._base}", labels=dict(labels))
        return str(self._resources.engine.images.get(name).id)

    def container(self, image: str, labels: Mapping[str, str]) -> str:
        made = str(self.api.create_container(image, labels=dict(labels))["Id"])
        self._resources.view.mine.add(made)
        return made

    def network(self, labels: Mapping[str, str]) -> str:
        return str(self.api.create_network(self._resources.token, labels=dict(labels), internal=True)["Id"])

    def remove(self) -> None:
        for item in self.api.containers(all=True, filters={"label": self.label}):
            self.api.remove_container(item["Id"], force=True)
        for item in self.api.networks(filters={"label": self.label}):
            self.api.remove_network(item["Id"])


@pytest.fixture
def resources(engine: docker.DockerClient) -> Iterator[Resources]:
    made = Resources(engine)
    yield made
    made.remove()


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_docker_meets_the_contract(check: Callable[[Engine], None], resources: Resources, images: BuiltImages) -> None:
    """tests/unit/support/test_fake_engine.py applies the same checks to the unit tests' fake engine."""
    real = RealEngine(resources, images.roles["client"])
    try:
        check(real)
    finally:
        real.remove()


def test_clean_removes_the_labs_resources_and_keeps_images_that_others_built_on_them(
    resources: Resources, images: BuiltImages, lab_session: Session
) -> None:
    """A user's images that were built FROM the base or FROM an image of the lab stay, and so do their containers."""
    token, client = resources.token, images.roles["client"]
    # Without a registry, earlier versions imported the base in this form: with Debian's name and the project's label.
    old_base = resources.build(f"debian:{token}", f"FROM {client}", f"LABEL {PROJECT_FILTER}")
    ours = resources.build(
        f"tuneproof/client:bookworm-{token}", f"FROM {old_base}", f"LABEL {LAYER_FILTER}", labels={BUILD: IMAGE}
    )
    app = resources.build(f"users/app:{token}", f"FROM {old_base}", "RUN true")
    extended = resources.build(f"users/client:{token}", f"FROM {ours}", "RUN true")
    inheriting = resources.engine.images.get(extended).labels
    assert inheriting.items() >= {BUILD: IMAGE, **dict([PROJECT_FILTER.split("=")])}.items()
    theirs = [resources.run(app, name=f"users-db-{token}"), resources.run(extended)]
    made = resources.run(client, labels=lab_session.labels)
    assert remove_everything(resources.view.client) == Removed(containers=1, images=1)
    assert all(resources.is_running(container) for container in theirs)
    assert [resources.holds(image) for image in (old_base, ours, app, extended)] == [True, False, True, True]
    assert not resources.engine.containers.list(all=True, filters={"id": made})


def test_clean_removes_the_leftovers_of_an_unfinished_build(resources: Resources, images: BuiltImages) -> None:
    """An unfinished build leaves unnamed layers, and the container of the interrupted step."""
    stage = resources.build(f"stage:{resources.token}", f"FROM {images.roles['client']}", f"LABEL {LAYER_FILTER}")
    step = resources.run(stage)
    layer = str(resources.engine.images.get(stage).id)
    resources.engine.api.remove_image(stage, force=True)
    removed = remove_everything(resources.view.client)
    assert removed.containers == 1
    assert removed.refused == ()
    assert not resources.engine.containers.list(all=True, filters={"id": step})
    assert not resources.holds(layer)


def test_an_image_that_a_user_committed_from_a_lab_container_outlives_the_session(
    resources: Resources, images: BuiltImages
) -> None:
    """The image, and therefore its container, carries all labels of a session that has ended."""
    session = Session()
    with Lab(session) as lab:
        lab.start([RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"])])
        name = f"users/kept:{resources.token}"
        committed = resources.engine.containers.get(lab["client"].id).commit(*name.rsplit(":", 1))
        resources.view.mine |= {name, str(committed.id)}
    theirs = resources.run(name)
    assert resources.engine.api.inspect_container(theirs)["Config"]["Labels"][SESSION] == session.id
    remove_session(resources.engine, session.id)
    remove_dead_sessions(resources.view.client)
    assert remove_everything(resources.view.client) == Removed()
    assert resources.is_running(theirs)
