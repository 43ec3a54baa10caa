"""The images of a run: one per nginx version, and one for each other role."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tuneproof.lab.engine.images import ImageSpec
from tuneproof.lab.subject.versions import DEFAULT_VERSION, MAINLINE, SUITES

# Backend, client and netadmin have the same suite for all nginx versions, so that only the nginx under test differs.
ROLES_SUITE: Final = SUITES[DEFAULT_VERSION]

HTTP3_IMAGE: Final = ImageSpec(name="http3", suite="trixie")
"""The image of the HTTP/3 clients, on the first suite that packages them; built only for labs that need it."""


def role_images() -> dict[str, ImageSpec]:
    """Return the images of backend, client and netadmin, by role."""
    return {name: ImageSpec(name=name, suite=ROLES_SUITE) for name in ("backend", "client", "netadmin")}


def subject_images(
    versions: Sequence[str], packages: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> dict[str, ImageSpec]:
    """Return the images of the subject, by nginx version.

    ``packages``: by version, packages with further modules. Mainline's binary is static and loads no module, so it gets
    none.
    """
    return {version: _subject(version, tuple(packages.get(version, ()))) for version in versions}


def _subject(version: str, packages: tuple[str, ...]) -> ImageSpec:
    plain = ImageSpec(name="subject", suite=SUITES[version])
    if version == MAINLINE:
        return ImageSpec(name="mainline", suite=plain.suite, on=plain)
    return ImageSpec(name="modules", suite=plain.suite, on=plain, packages=packages) if packages else plain
