"""The images for a run on several engines: before it starts, one engine builds them, and the others get copies."""

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import docker

from tuneproof.cli import suite
from tuneproof.cli.output import say
from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.images import ImageSpec, copy_images, ensure_images, missing_images
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.subject.images import role_images, subject_images
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.proof.depths import QUICK, versions_at

# A call may take as long as building or sending an image does.
_TIMEOUT_S: Final = 600


def images_for(arguments: Sequence[str]) -> list[ImageSpec]:
    """Return the images that a run with these pytest arguments needs.

    BadInputError: ``--nginx`` names an unknown version.
    """
    depths, _ = suite.values_of("--depth", arguments)
    asked, _ = suite.values_of("--nginx", arguments)
    # Mainline is not copied: each engine can install the same binary with pip, and a run continues without it.
    versions = [one for one in versions_at(depths[-1] if depths else QUICK, asked) if one != MAINLINE]
    return [*role_images().values(), *subject_images(versions).values()]


def provide_images(environments: Mapping[str, Mapping[str, str]], specs: Sequence[ImageSpec]) -> None:
    """Give every engine the images that it lacks.

    One engine builds the images, so that all engines measure the same bytes and only one needs access to packages: the
    engine that lacks the fewest images or, if it fails, the next one. An engine that cannot take a copy is reported.

    TuneproofError: None of the engines can build them; the message is the last engine's error.
    """
    with contextlib.ExitStack() as opened:
        clients = {
            name: opened.enter_context(contextlib.closing(connect(timeout_s=_TIMEOUT_S, environment=environment)))
            for name, environment in environments.items()
        }
        missing = {name: missing_images(client, specs) for name, client in clients.items()}
        if not any(missing.values()):
            return
        builders = sorted(clients, key=lambda name: len(missing[name]))
        source = _build(builders, clients, environments, specs)

        def copy_to(name: str) -> None:
            try:
                copy_images(clients[source], clients[name], missing[name], name=name, report=say)
            except TuneproofError as error:
                say(f"engine {name} gets no images: {error}")

        targets = [name for name in clients if name != source and missing[name]]
        with ThreadPoolExecutor(max_workers=len(clients)) as pool:
            list(pool.map(copy_to, targets))


def _build(
    builders: Sequence[str],
    clients: Mapping[str, docker.DockerClient],
    environments: Mapping[str, Mapping[str, str]],
    specs: Sequence[ImageSpec],
) -> str:
    """Return the first engine that has, or could build, all images."""

    def build_on(name: str) -> str:
        ensure_images(
            clients[name],
            specs,
            report=lambda line: say(f"engine {name}: {line}"),
            environment=environments[name],
        )
        return name

    *first, last = builders
    for name in first:
        try:
            return build_on(name)
        except TuneproofError as error:
            say(f"engine {name} cannot build the images: {error.what.rstrip('.')}; trying the next engine")
    return build_on(last)
