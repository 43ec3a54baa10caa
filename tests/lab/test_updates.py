"""What the doctor says of security updates is what apt says of the packages in an image."""

import re
import shutil
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages
from tuneproof.lab.engine.updates import package_lists, updates_for
from tuneproof.lab.subject.images import ROLES_SUITE
from tuneproof.lab.subject.versions import DEFAULT_VERSION

pytestmark = pytest.mark.engine

_VERSION: Final = re.compile(r"^Version: .*$", re.MULTILINE)


def test_updates_of_an_image_are_found(engine: docker.DockerClient, images: BuiltImages) -> None:
    """An image in which every package is as old as can be lacks every update; the lists are this machine's own."""
    if shutil.which("apt-get") is None:
        pytest.skip("apt-get is not installed here: nothing knows Debian's updates")
    (packages,) = package_lists(engine, [images.subjects[DEFAULT_VERSION]])
    assert re.search(r"^Package: nginx$", packages, re.MULTILINE)
    updates = updates_for([packages], ROLES_SUITE)
    if updates is None:
        pytest.skip(f"apt has no package lists of Debian {ROLES_SUITE} security here")
    old = updates_for([_VERSION.sub("Version: 0", packages)], ROLES_SUITE)
    assert old is not None
    assert {*updates.packages, "openssl"} <= set(old.packages)
