"""The project's requirements on an engine; Docker and the unit tests' fake engine must both meet them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import pytest
from docker.errors import APIError, NotFound

LABEL: Final = "io.example.contract"
_CONFLICT: Final = 409


class Engine(Protocol):
    """An engine on which a check creates resources; no other resource on it has the label."""

    api: Any
    label: str  # LABEL, or a unique one that begins with it

    def image(self, name: str, labels: Mapping[str, str], *, on: str = "") -> str:
        """Make an image with a name and a tag, built on another image if ``on`` names one; return its id."""

    def container(self, image: str, labels: Mapping[str, str]) -> str:
        """Make a container that never runs; return its id."""

    def network(self, labels: Mapping[str, str]) -> str: ...


def resources_are_listed_by_label(engine: Engine) -> None:
    """A filter has the label's name alone or with a value; containers that never ran are listed, too."""
    label = engine.label
    image = engine.image(f"{label}/a:1", {})
    first, second = (engine.container(image, {label: value}) for value in ("1", "2"))
    engine.container(image, {})
    listed = engine.api.containers(all=True, filters={"label": label})
    assert {item["Id"]: (item["Labels"][label], item["ImageID"]) for item in listed} == {
        first: ("1", image),
        second: ("2", image),
    }
    assert [item["Id"] for item in engine.api.containers(all=True, filters={"label": f"{label}=2"})] == [second]
    network = engine.network({label: "1"})
    (found,) = engine.api.networks(filters={"label": label})
    assert (found["Id"], found["Labels"], found["Scope"]) == (network, {label: "1"}, "local")
    assert not engine.api.volumes(filters={"label": label})["Volumes"]


def containers_are_listed_by_part_of_their_name_with_their_creation_time(engine: Engine) -> None:
    name = engine.label.replace(".", "-")
    image = engine.image(f"{engine.label}/a:1", {})
    labels = {engine.label: "1"}
    made = [
        engine.api.create_container(image, name=f"{name}-{part}", labels=labels)["Id"] for part in ("a-1", "a-2", "b")
    ]
    created = {item["Id"]: item["Created"] for item in engine.api.containers(all=True, filters={"name": f"{name}-a-"})}
    assert created.keys() == set(made[:2])
    assert created[made[0]] <= created[made[1]]


def container_names_are_unique(engine: Engine) -> None:
    """The engine refuses a second container with the same name; the first one is found by name until it is removed."""
    name, label = engine.label.replace(".", "-"), engine.label
    image = engine.image(f"{label}/a:1", {})
    made = engine.api.create_container(image, name=name, labels={label: "1"})["Id"]
    with pytest.raises(APIError) as refused:
        engine.api.create_container(image, name=name, labels={label: "2"})
    assert refused.value.status_code == _CONFLICT
    found = engine.api.inspect_container(name)
    assert (found["Id"], found["Config"]["Labels"][label]) == (made, "1")
    engine.api.remove_container(made, force=True, v=True)
    with pytest.raises(NotFound):
        engine.api.inspect_container(name)


def removed_resources_are_not_found(engine: Engine) -> None:
    image = engine.image(f"{engine.label}/a:1", {})
    container, network = engine.container(image, {engine.label: "1"}), engine.network({engine.label: "1"})
    options = {"force": True, "v": True}
    for remove, name, more in (
        (engine.api.remove_container, container, options),
        (engine.api.remove_network, network, {}),
        (engine.api.remove_image, f"{engine.label}/a:1", {}),
    ):
        remove(name, **more)
        with pytest.raises(NotFound):
            remove(name, **more)


def an_image_that_a_container_uses_cannot_be_removed(engine: Engine) -> None:
    name = f"{engine.label}/a:1"
    container = engine.container(engine.image(name, {}), {engine.label: "1"})
    with pytest.raises(APIError, match="is using") as refused:
        engine.api.remove_image(name)
    assert refused.value.status_code == _CONFLICT
    engine.api.remove_container(container, force=True, v=True)
    engine.api.remove_image(name)


def removing_a_parent_image_removes_only_its_name(engine: Engine) -> None:
    """The unnamed parent image is not dangling and cannot be removed; names are listed with their tags."""
    label = engine.label
    engine.image(f"{label}/below:1", {label: "1"})
    engine.image(f"{label}/above:1", {label: "1"}, on=f"{label}/below:1")
    listed = {name for item in engine.api.images(filters={"label": label}) for name in item["RepoTags"]}
    assert listed == {f"{label}/below:1", f"{label}/above:1"}
    engine.api.remove_image(f"{label}/below:1")
    (left,) = engine.api.images(filters={"label": label})
    assert left["RepoTags"] == [f"{label}/above:1"]
    assert engine.api.images(filters={"label": label, "dangling": True}) == []
    unnamed = {item["Id"] for item in engine.api.images(all=True, filters={"label": label})} - {left["Id"]}
    assert unnamed
    for layer in unnamed:
        with pytest.raises(APIError, match="dependent child images") as refused:
            engine.api.remove_image(layer)
        assert refused.value.status_code == _CONFLICT


CONTRACT: Final[tuple[Callable[[Engine], None], ...]] = (
    resources_are_listed_by_label,
    containers_are_listed_by_part_of_their_name_with_their_creation_time,
    container_names_are_unique,
    removed_resources_are_not_found,
    an_image_that_a_container_uses_cannot_be_removed,
    removing_a_parent_image_removes_only_its_name,
)
