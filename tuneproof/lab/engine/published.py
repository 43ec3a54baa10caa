"""The lab's images from a release, pulled by the digests that the release's checkout pins.

``images/published.json`` exists only in a release. It lists each image's repository and digest by the image's
name in that checkout (https://specs.opencontainers.org/image-spec/descriptor/#digests). Names are hashes of an
image's sources, so a changed image is not listed, and is built.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import requests
from docker.errors import DockerException, ImageNotFound, NotFound

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.lab.engine.base import downloading_client
from tuneproof.lab.engine.failures import engine_errors

PUBLISHED: Final = Path(__file__).parents[3] / "images" / "published.json"
BUILD_IMAGES: Final = "TUNEPROOF_BUILD_IMAGES"
"""Environment variable: unless it is empty, the images of a release are built here instead of being pulled."""
_PULL_TIMEOUT_S: Final = 600
# Part of the engine's error for content that does not match its digest.
_UNVERIFIED: Final = "verif"


def pull_published(
    tag: str,
    *,
    report: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> bool:
    """Pull an image by its published digest, and tag it with its local name; False if it has to be built.

    environment: variables that name the engine (default: this process's own). Raises CannotRunHereError: the registry
    does not have the image, or returned other content.
    """
    repository, digest = _published().get(tag, ("", ""))
    if not digest or os.environ.get(BUILD_IMAGES):
        return False
    report(f"pulling image {tag}")
    with downloading_client(environment, timeout_s=_PULL_TIMEOUT_S) as pulling:
        try:
            image = pulling.images.pull(repository, tag=digest)
        except (DockerException, requests.RequestException) as error:
            words = str(getattr(error, "explanation", None) or error)
            if isinstance(error, (NotFound, ImageNotFound)) or _UNVERIFIED in words:
                raise CannotRunHereError(
                    f"the registry does not have the image that this release names ({words[:200]})",
                    where=f"{repository}@{digest}",
                    remedy=f"{BUILD_IMAGES}=1 builds the images here instead",
                ) from error
            report(f"no registry answers for {repository} ({words[:120]}); building {tag}")
            return False
        with engine_errors(f"tagging {tag}"):
            name, _, version = tag.partition(":")
            image.tag(name, tag=version)
            # The registry's name would keep the image when `clean` removes ours.
            pulling.images.remove(f"{repository}@{digest}")
    return True


def _published() -> Mapping[str, tuple[str, str]]:
    """Return each image's repository and digest by its local name; empty unless the checkout is a release."""
    try:
        known = json.loads(PUBLISHED.read_text(encoding="utf-8"))
        return {tag: (str(place["repository"]), str(place["digest"])) for tag, place in known.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInputError(
            f"the list of published images cannot be read: {error!r}",
            where=str(PUBLISHED),
            remedy="restore it from the release, or delete it to build the images",
        ) from error
