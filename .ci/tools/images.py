# ruff: noqa: INP001 - a script, not a package
"""Builds the images that this checkout uses, and prints their names, so that CI can keep them for later jobs.

From the checkout: ``PYTHONPATH=. .venv/bin/python .ci/tools/images.py [NGINX]...`` (default: all versions of nginx). A
missing engine is set up as for ``./lab run``. Names go to stdout, one per line, and progress to stderr.
``--publish REPOSITORY`` pushes them to that place in a registry, such as registry.example/tuneproof, and writes
images/published.json, with which a release's checkout pulls them; ``--check`` compares that file with the checkout.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence

import docker

from tuneproof.cli.output import say, show
from tuneproof.errors import LabError, TuneproofError
from tuneproof.lab.engine.daemon import ensure_engine
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.images import IMAGES_FOLDER, ImageSpec, ensure_images
from tuneproof.lab.engine.published import PUBLISHED
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.subject.images import HTTP3_IMAGE, ROLES_SUITE, subject_images
from tuneproof.lab.subject.versions import SUITES, choose_versions

SUBJECT = "subject"
TIMEOUT_S = 600  # a call to the engine may wait until a package is installed


def specs(versions: Sequence[str]) -> list[ImageSpec]:
    """Return nginx's image for each version, each other image once, and HTTP/3's clients if a version needs them."""
    subjects = subject_images(versions)
    layers = {SUBJECT, *(spec.name for spec in subject_images(tuple(SUITES)).values())}
    folders = {path.parent.name for path in IMAGES_FOLDER.glob("*/Dockerfile")}
    others = sorted(folders - layers - {HTTP3_IMAGE.name})
    return [
        *subjects.values(),
        *(ImageSpec(name=name, suite=ROLES_SUITE) for name in others),
        *([HTTP3_IMAGE] if {"1.26", "1.30"} & set(versions) else []),
    ]


def publish(client: docker.DockerClient, spec: ImageSpec, repository: str) -> dict[str, str]:
    """Push an image; return its place in the registry and its digest there."""
    place, version = f"{repository}/{spec.name}", spec.tag.partition(":")[2]
    say(f"pushing {spec.tag} to {place}")
    with engine_errors(f"pushing {spec.tag}"):
        client.images.get(spec.tag).tag(place, tag=version)
        lines = list(client.images.push(place, tag=version, stream=True, decode=True))
    digests = [line["aux"]["Digest"] for line in lines if "aux" in line]
    if not digests:
        raise LabError(f"pushing {spec.tag} failed", where=place, tail=str(lines[-1]))
    return {"repository": place, "digest": digests[-1]}


def check(wanted: Sequence[ImageSpec]) -> int:
    """Return 0 if every image was published under the name that it has in this checkout, or else 1."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8")) if PUBLISHED.is_file() else {}
    missing = [spec.tag for spec in wanted if spec.tag not in published]
    for tag in missing:
        say(f"{PUBLISHED} does not have {tag}")
    return 1 if missing else 0


def main(arguments: Sequence[str]) -> int:
    """Build missing images, and publish all of them if asked to; or only check.

    Returns:
        0; another status after a message if the check fails, no engine answers, or an image cannot be built or pushed.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="NGINX")
    parser.add_argument("--publish", metavar="REPOSITORY", default="")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    try:
        wanted = specs(choose_versions(options.versions) if options.versions else tuple(SUITES))
        if options.check:
            return check(wanted)
        ensure_engine(report=say)
        with contextlib.closing(connect(timeout_s=TIMEOUT_S)) as client:
            ensure_images(client, wanted, report=say)
            if options.publish:
                published = {spec.tag: publish(client, spec, options.publish) for spec in wanted}
                PUBLISHED.write_text(json.dumps(published, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    except TuneproofError as error:
        say(str(error))
        return error.exit_status
    show("\n".join(spec.tag for spec in wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
