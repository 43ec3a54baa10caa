"""The memory of containers, read from control groups."""

from pathlib import Path

import pytest

from tuneproof.lab.engine.memory import MemoryWatch, taken_bytes

V1 = ("memory/docker/{}", "memory.usage_in_bytes")
SYSTEMD_V2 = ("system.slice/docker-{}.scope", "memory.current")


def container(root: Path, place: tuple[str, str], name: str, used: int) -> None:
    """Create a container's control group with a page cache of 30 bytes."""
    folder = root / place[0].format(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / place[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text("anon 60\ninactive_file 10\nactive_file 20\n")


@pytest.mark.parametrize("place", [V1, SYSTEMD_V2], ids=["v1", "v2-systemd"])
def test_the_page_cache_is_left_out_with_both_cgroup_versions(tmp_path: Path, place: tuple[str, str]) -> None:
    """The kernel can free the page cache without ending the container."""
    container(tmp_path, place, "abc", 100)
    assert taken_bytes("abc", root=tmp_path) == 70
    assert taken_bytes("elsewhere", root=tmp_path) is None


def test_the_peak_is_that_of_all_containers_together(tmp_path: Path) -> None:
    """Containers on other machines cannot be read."""
    container(tmp_path, V1, "one", 1000)
    container(tmp_path, V1, "two", 2000)
    watch = MemoryWatch(lambda: ["one", "two", "gone"], root=tmp_path)
    watch.look()
    both = watch.peak_bytes
    assert both is not None
    assert both > 2940  # this process also uses memory
    container(tmp_path, V1, "two", 30)
    watch.look()
    assert watch.peak_bytes == pytest.approx(both, rel=0.2)
    assert watch.peak_bytes is not None
    assert watch.peak_bytes >= both
    unseen = MemoryWatch(lambda: ["gone"], root=tmp_path)
    unseen.look()
    assert unseen.peak_bytes is None
