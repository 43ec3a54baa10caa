"""The images of a run: nginx once per version, and one for each of the others that take part."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tuneproof.lab.engine.images import ImageSpec
from tuneproof.lab.subject.versions import DEFAULT_VERSION, SUITES

# Everything but the subject is built on one suite, so that only the nginx under test differs between versions.
ROLES_SUITE: Final = SUITES[DEFAULT_VERSION]


def role_images() -> dict[str, ImageSpec]:
    """Return the images of backend, client and netadmin, by role."""
    return {name: ImageSpec(name=name, suite=ROLES_SUITE) for name in ("backend", "client", "netadmin")}


def subject_images(
    versions: Sequence[str], packages: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> dict[str, ImageSpec]:
    """Return the images of the subject, by nginx version; ``packages`` are those of modules that one needs besides."""
    plain = {version: ImageSpec(name="subject", suite=SUITES[version]) for version in versions}
    return {
        version: ImageSpec(name="modules", suite=spec.suite, on=spec, packages=tuple(packages[version]))
        if packages.get(version)
        else spec
        for version, spec in plain.items()
    }
