"""The doctor reads an image's list of packages, and finds security updates with this machine's apt."""

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

# An entry in dpkg's list of packages, with a version that is older than any in the security archive.
_OLD: Final = """\
Package: openssl
Status: install ok installed
Maintainer: somebody
Architecture: {architecture}
Version: 0
Description: old
"""


@pytest.mark.slow  # tests/unit/lab/engine/test_updates.py reads recorded lists; only Debian's archive may change
def test_an_images_packages_are_read_and_an_old_package_has_an_update(
    engine: docker.DockerClient, images: BuiltImages
) -> None:
    """The image itself may be up to date, so apt gets an entry with version 0."""
    if shutil.which("apt-get") is None:
        pytest.skip("apt-get is not installed here, so Debian's updates are unknown")
    (packages,) = package_lists(engine, [images.subjects[DEFAULT_VERSION]])
    assert re.search(r"^Package: nginx$", packages, re.MULTILINE)
    updates = updates_for([packages], ROLES_SUITE)
    if updates is None:
        pytest.skip(f"apt has no package lists of Debian {ROLES_SUITE} security here")
    architecture = re.findall(r"^Architecture: (?!all)(\S+)$", packages, re.MULTILINE)[0]
    old = updates_for([_OLD.format(architecture=architecture)], ROLES_SUITE)
    assert old is not None
    assert (old.packages, old.listed) == (("openssl",), updates.listed)
