"""Receive packet steering: CPU masks, and the files that contain them."""

from pathlib import Path

import pytest

from images.netadmin.netadmin import steering
from images.netadmin.netadmin.steering import cpu_mask, cpus_of_mask, steer_receive

MASKS = [
    ([], "0"),
    ([0], "1"),
    ([0, 1], "3"),
    ([3], "8"),
    ([31], "80000000"),
    ([32], "1,00000000"),
    ([0, 33, 64], "1,00000002,00000001"),
]


@pytest.fixture
def queues(tmp_path: Path) -> Path:
    """Return the queues of a link: two that receive, one that sends."""
    for name, file in (("rx-0", "rps_cpus"), ("rx-1", "rps_cpus"), ("tx-0", "xps_cpus")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("0\n", encoding="ascii")
    return tmp_path


@pytest.mark.parametrize(("cpus", "mask"), MASKS)
def test_a_mask_is_written_in_groups_of_32_cpus(cpus: list[int], mask: str) -> None:
    assert cpu_mask(cpus) == mask


@pytest.mark.parametrize(("cpus", "mask"), [*MASKS, ([0, 1], "00000000,00000003\n")])
def test_a_mask_is_read_back_with_or_without_leading_zeros(cpus: list[int], mask: str) -> None:
    """The kernel prints digits for all possible CPUs."""
    assert cpus_of_mask(mask) == cpus


def test_every_receive_queue_is_steered(queues: Path) -> None:
    steered = steer_receive((1, 0), queues=queues)
    assert steered == {"rx-0": (0, 1), "rx-1": (0, 1)}
    assert (queues / "rx-0" / "rps_cpus").read_text(encoding="ascii") == "3\n"
    assert (queues / "rx-1" / "rps_cpus").read_text(encoding="ascii") == "3\n"
    assert (queues / "tx-0" / "xps_cpus").read_text(encoding="ascii") == "0\n"
    assert steer_receive((), queues=queues) == {"rx-0": (), "rx-1": ()}, "without CPUs, steering should be off"


def test_an_unwritable_file_is_an_error_with_the_systems_reason(queues: Path) -> None:
    """In a container, /sys is usually read-only. Here, a folder in place of the file stops even root."""
    (queues / "rx-0" / "rps_cpus").unlink()
    (queues / "rx-0" / "rps_cpus").mkdir()
    with pytest.raises(OSError, match=r"rps_cpus cannot be written: .*Is a directory"):
        steer_receive((0,), queues=queues)


def test_a_link_without_queues_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="has no receive queue"):
        steer_receive((0,), queues=tmp_path)


def test_a_kernel_that_sets_another_mask_is_an_error(queues: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "cpu_mask", lambda _: "1")
    with pytest.raises(RuntimeError, match=r"name the CPUs \[0, 4095\], but names {'rx-0': \[0\], 'rx-1': \[0\]}"):
        steer_receive((0, 4095), queues=queues)
