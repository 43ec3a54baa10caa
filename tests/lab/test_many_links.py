"""Labs with shaped links leave nothing behind; without a shaper, only claims on shaped links are skipped."""

from pathlib import Path

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.lab.children import GONE_WITHIN_S, SHORTEST_RUN, start_pytest
from tests.lab.many_links import start_many
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.links import NATIVE
from tuneproof.lab.network.shaper import why_impossible

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_labs_with_shaped_links_leave_no_link_and_no_user_mode_kernel(
    engine: docker.DockerClient, lab_session: Session
) -> None:
    """start_many checks each lab; ``python -m tests.lab.many_links 50`` tries more."""
    assert len(list(start_many(engine, lab_session, 3))) == 1 + 3


def test_claims_on_the_bare_network_are_decided_even_if_no_link_can_be_shaped(
    lab_session: Session, images: BuiltImages, tmp_path: Path
) -> None:
    """With the native shaper and without netem, claims on shaped links are skipped with the reason; others run."""
    if not why_impossible(lab_session, images.roles["netadmin"])[NATIVE]:
        pytest.skip("this host's kernel has netem, so it can shape links")
    child = start_pytest(*SHORTEST_RUN, "--network", "wan", "--network", "bare", "--shaper", "native", results=tmp_path)
    output, _ = child.communicate(timeout=4 * GONE_WITHIN_S)
    assert child.returncode == 0, output
    assert "1 passed, 1 skipped" in output
    assert "no link can be shaped on this host: native: " in output
