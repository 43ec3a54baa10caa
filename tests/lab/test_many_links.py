"""Labs with shaped links leave nothing behind; without a shaper, only claims on shaped links are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.engine import BuiltImages
from tests.lab.children import GONE_WITHIN_S, SHORTEST_RUN, start_pytest, wait_until
from tests.support.path_lab import PEER, path_lab_specs
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.links import AUTO, NATIVE
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.network.shaped_links import QUICK_PROBES, ShapedLinks
from tuneproof.lab.network.shaper import choose_shaper, why_impossible
from tuneproof.lab.topology.lab import Lab

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def interfaces() -> set[str]:
    """Return the names of this machine's network interfaces; those on a remote engine's machine are not visible."""
    return {entry.name for entry in Path("/sys/class/net").iterdir()}


def user_mode_kernels() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if command.startswith("linux.uml"):
                yield int(entry.name)


def test_labs_with_shaped_links_leave_no_link_and_no_user_mode_kernel(
    lab_session: Session, images: BuiltImages
) -> None:
    """The engine removes an endpoint's link a moment after its container."""
    shaper = choose_shaper(AUTO, why_impossible(lab_session, images.roles["netadmin"]))
    netadmin, client = images.roles["netadmin"], images.roles["client"]
    specs = path_lab_specs(
        shaper=shaper, netadmin_image=netadmin, client_image=client, peer_cpuset="", others_cpuset=""
    )
    before, kernels_before = interfaces(), set(user_mode_kernels())
    for _ in range(3):
        with Lab(lab_session) as lab:
            lab.start(specs)
            links = ShapedLinks(lab, shaper=shaper)
            profile = PROFILES["slow-client"]
            links.apply(profile, subject=PEER)
            links.measure("client", profile.client, subject=PEER, plan=QUICK_PROBES)
        wait_until(lambda: interfaces() <= before, within_s=GONE_WITHIN_S)
        wait_until(lambda: set(user_mode_kernels()) <= kernels_before, within_s=GONE_WITHIN_S)


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
