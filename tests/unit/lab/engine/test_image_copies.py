"""Images are copied from one engine to another."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import docker
import pytest
from docker.errors import APIError, ImageNotFound

from tuneproof.errors import LabError
from tuneproof.lab.engine.images import ImageSpec, copy_images

SPECS = [ImageSpec(name=name, suite="bookworm") for name in ("client", "netadmin")]


class Engine:
    """An engine with images by name, which it saves for another engine to load."""

    def __init__(self, *tags: str, built: str = "here", refuses: bool = False) -> None:
        self.built = dict.fromkeys(tags, built)
        self.refuses = refuses

    @property
    def client(self) -> docker.DockerClient:
        return cast("docker.DockerClient", SimpleNamespace(images=self))

    def get(self, tag: str) -> SimpleNamespace:
        if tag not in self.built:
            raise ImageNotFound(tag)
        parts = [tag.encode(), b"@", self.built[tag].encode()]
        return SimpleNamespace(id=self.built[tag], save=lambda *, named: iter(parts if named == tag else []))

    def load(self, archive: Iterator[bytes]) -> None:
        if self.refuses:
            raise APIError("refused", explanation="no space left on device")
        tag, _, built = b"".join(archive).decode().partition("@")
        self.built[tag] = built


def test_missing_and_different_images_are_copied_to_an_engine() -> None:
    """Images with the same tag may contain different package versions, since apt ran on different days."""
    client, netadmin = (spec.tag for spec in SPECS)
    reports: list[str] = []
    for target, copied in ((Engine(client), [netadmin]), (Engine(client, netadmin, built="there"), [client, netadmin])):
        source = Engine(client, netadmin, "other:1")
        reports.clear()
        copy_images(source.client, target.client, SPECS, name="far", report=reports.append)
        assert target.built == {client: "here", netadmin: "here"}
        assert reports == [f"copying image {tag} to engine far" for tag in copied]


def test_an_engines_refusal_to_load_an_image_is_reported() -> None:
    source, target = Engine(*(spec.tag for spec in SPECS)), Engine(refuses=True)
    with pytest.raises(LabError, match="to engine far: no space left on device"):
        copy_images(source.client, target.client, SPECS, name="far", report=lambda _: None)
