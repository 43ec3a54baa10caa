"""CPUs in the kernel's list format."""

import pytest

from tuneproof.lab.protocol.cpus import cpus_of, list_of

LISTS = [("0", [0]), ("1-3", [1, 2, 3]), ("0,2-3", [0, 2, 3]), ("0-1,4,6-7", [0, 1, 4, 6, 7])]


@pytest.mark.parametrize(("text", "cpus"), LISTS)
def test_a_list_is_read_and_written(text: str, cpus: list[int]) -> None:
    assert cpus_of(text) == cpus
    assert list_of(reversed(cpus)) == text


def test_an_unsorted_list_with_repetitions_is_read() -> None:
    assert cpus_of("4,0-1,1") == [0, 1, 4]


def test_the_text_of_an_empty_list_is_rejected() -> None:
    """An empty list leaves no CPU to run on, but the engine would take the empty text to mean all CPUs."""
    assert list_of([]) == ""
    with pytest.raises(ValueError, match="invalid literal"):
        cpus_of("")
