"""Images that one engine has, taken to another: over a local network that is faster than building them there."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import docker

from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.images import ImageSpec, missing_images


def copy_images(
    source: docker.DockerClient,
    target: docker.DockerClient,
    specs: Sequence[ImageSpec],
    *,
    name: str,
    report: Callable[[str], None],
) -> None:
    """Copy the images that an engine lacks from one of the same architecture, which needs no registry there."""
    for spec in missing_images(target, specs):
        report(f"copying image {spec.tag} to engine {name}")
        with engine_errors(f"copying {spec.tag} to engine {name}"):
            # Part by part, as it comes: docker-py sends what can be iterated over; its type information names files.
            parts = cast("Any", source.images.get(spec.tag).save(named=spec.tag))
            target.images.load(parts)
