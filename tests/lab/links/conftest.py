"""The labs for all tests of links, one for each shaper."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.path_lab import path_lab_specs
from tuneproof.lab.network.shaped_links import ShapedLinks
from tuneproof.lab.topology.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    # Importing the plugin fixtures.engine before pytest loads it would prevent pytest from rewriting its assertions.
    from fixtures.engine import BuiltImages, PlaceCpus
    from tuneproof.lab.engine.labels import Session

PathLab = Callable[[str], ShapedLinks]


@pytest.fixture(scope="package")
def path_lab(lab_session: Session, images: BuiltImages, place_cpus: PlaceCpus) -> Iterator[PathLab]:
    """Return the links of a lab by shaper (see tests/support/path_lab.py)."""
    placement = place_cpus(())
    with ExitStack() as labs:

        @functools.cache
        def links_of(shaper: str) -> ShapedLinks:
            lab = labs.enter_context(Lab(lab_session))
            lab.start(
                path_lab_specs(
                    shaper=shaper,
                    netadmin_image=images.roles["netadmin"],
                    client_image=images.roles["client"],
                    peer_cpuset=placement.subject,
                    others_cpuset=placement.others,
                )
            )
            return ShapedLinks(lab, shaper=shaper)

        yield links_of
