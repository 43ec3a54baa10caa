"""The location that a path selects; a lab test compares the results with nginx."""

import pytest

from tests.support.read_configurations import server_of
from tuneproof.conf.locations import taken

SERVER = server_of(
    r"""
    location = /exact { }
    location /im/ { proxy_pass http://a; location /im/deep/ { } location = /im/deep/x.php { } }
    location ^~ /im/raw { }
    location ~ \.php$ { location ~ ^/admin { } location /never { } }
    location ~* \.JPG$ { }
    location =/short { }
    location @named { }
    location /a { }
    location /a/ { proxy_pass http://b; }
    location /b/ { proxy_pass http://b; }
    location = /b/ { }
    location ^~ /c/ { proxy_pass http://b; }
    location = /c/ { }
    """
)


@pytest.mark.parametrize(
    ("path", "args", "redirects"),
    [
        ("/exact", ("=", "/exact"), False),
        ("/exact/", (), False),
        ("/im", ("/im/",), True),
        ("/im/a", ("/im/",), False),
        ("/im/deep/a", ("/im/deep/",), False),
        # After a nested prefix, nginx still tries outer regular expressions; after an exact location it does not.
        ("/im/deep/a.php", ("~", r"\.php$"), False),
        ("/im/deep/x.php", ("=", "/im/deep/x.php"), False),
        ("/im/raw.php", ("^~", "/im/raw"), False),
        ("/admin.php", ("~", "^/admin"), False),
        ("/never.php", ("~", r"\.php$"), False),
        ("/a.jpg", ("~*", r"\.JPG$"), False),
        ("/short", ("=/short",), False),
        ("/@named", (), False),
        ("/a", ("/a",), False),
        # Both locations of the name are one node in nginx's tree.
        ("/b", ("=", "/b/"), True),
        ("/c", ("=", "/c/"), True),
    ],
)
def test_a_path_is_matched_as_in_nginx(path: str, args: tuple[str, ...], *, redirects: bool) -> None:
    found = taken(path, SERVER)
    assert (found.block.args, found.redirects, found.doubt) == (args, redirects, "")


def test_missing_or_unknown_parts_make_the_answer_uncertain() -> None:
    """The answer for a path with an exact location is still certain."""
    text = "include /more.conf; location = /a { } location /b { } location ~ c { }"
    server = server_of(text, is_complete=False)
    assert [bool(taken(path, server).doubt) for path in ("/a", "/b", "/c")] == [False, True, True]
    assert "understood" in taken("/b", server_of(r"location ~ a\Kb { } location /b { }")).doubt
