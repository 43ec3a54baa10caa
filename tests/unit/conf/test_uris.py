"""The path that nginx compares with locations; a lab test compares the results with nginx."""

import pytest

from tuneproof.conf.uris import normalised


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/", "/"),
        ("/a//b///c", "/a/b/c"),
        ("/a/./b/.", "/a/b/"),
        ("/a/b/../c/..", "/a/"),
        ("/a%2Fb%20c%3f?x=/../..", "/a/b c?"),
        ("/%2e%2e/a", None),
        ("/..", None),
        ("/a%0", None),
        ("/a%00", None),
        ("/a#b?c", "/a"),
        ("*", None),
        ("/é", "/Ã©"),
    ],
)
def test_a_path_is_decoded_merged_and_resolved(target: str, path: str | None) -> None:
    assert normalised(target) == path


def test_slashes_stay_if_they_are_not_merged() -> None:
    assert normalised("//a//../b//", merges_slashes=False) == "//a/b//"
