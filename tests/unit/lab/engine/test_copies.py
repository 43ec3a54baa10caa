"""Images that are taken from one engine to another."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import docker
import pytest
from docker.errors import APIError, ImageNotFound

from tuneproof.errors import LabError
from tuneproof.lab.engine.copies import copy_images
from tuneproof.lab.engine.images import ImageSpec

SPECS = [ImageSpec(name=name, suite="bookworm") for name in ("client", "netadmin")]


class Engine:
    """Holds images by name; what it saves, another one loads."""

    def __init__(self, *tags: str, refuses: bool = False) -> None:
        self.tags = set(tags)
        self.refuses = refuses

    @property
    def client(self) -> docker.DockerClient:
        """A client of it."""
        return cast("docker.DockerClient", SimpleNamespace(images=self))

    def get(self, tag: str) -> SimpleNamespace:
        """Return an image."""
        if tag not in self.tags:
            raise ImageNotFound(tag)
        return SimpleNamespace(save=lambda *, named: iter([named.encode()]))

    def load(self, archive: Iterator[bytes]) -> None:
        """Take an image."""
        if self.refuses:
            raise APIError("refused", explanation="no space left on device")
        self.tags.add(b"".join(archive).decode())


def test_an_engine_gets_what_it_lacks() -> None:
    """Under the same name, and nothing twice."""
    client, netadmin = (spec.tag for spec in SPECS)
    source, target = Engine(client, netadmin, "other:1"), Engine(client)
    said: list[str] = []
    copy_images(source.client, target.client, SPECS, name="far", report=said.append)
    assert target.tags == {client, netadmin}
    assert said == [f"copying image {netadmin} to engine far"]


def test_an_engine_that_refuses_is_an_error() -> None:
    """With its reason."""
    source, target = Engine(*(spec.tag for spec in SPECS)), Engine(refuses=True)
    with pytest.raises(LabError, match="to engine far: no space left on device"):
        copy_images(source.client, target.client, SPECS, name="far", report=lambda _: None)
