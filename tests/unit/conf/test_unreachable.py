"""Locations that no path can reach."""

import pytest

from tests.support.read_configurations import server_of
from tuneproof.conf.unreachable import unreachable_in


@pytest.mark.parametrize(
    ("locations", "lost", "by"),
    [
        (r"location ~ \.(php|html)$ { } location ~ \.php$ { }", r"\.php$", r"\.(php|html)$"),
        (r"location ~ ^/api/ { } location ~ ^/api/v\d+/ { }", r"^/api/v\d+/", "^/api/"),
        (r"location ~* \.JPG$ { } location ~ \.jpg$ { }", r"\.jpg$", r"\.JPG$"),
        ("location ^~ /im/ { } location ~ ^/im/x { }", "^/im/x", "/im/"),
        ("location ~ /a { location /a/b { } }", "/a/b", "/a"),
        ("location /im/ { } location ~ ^/im { }", "/im/", "^/im"),
        ("location /a { location ~ x { } location ~ x { } }", "x", "x"),
        ("location ~ ^/(a|b)+$ { } location ~ ^/(a|b)+$ { }", "^/(a|b)+$", "^/(a|b)+$"),
        ("location ~* ^/(a|b)+$ { } location ~* ^/(a|b)+$ { }", "^/(a|b)+$", "^/(a|b)+$"),
        ("location ^~ /1/ { } location ~* ^/1/ { }", "^/1/", "/1/"),
        ("location ~ /a$ { } location ~ x/a$ { }", "x/a$", "/a$"),
    ],
)
def test_the_location_that_takes_all_paths_of_another_one_is_named(locations: str, lost: str, by: str) -> None:
    found = [(one.block.args[-1], one.by.args[-1]) for one in unreachable_in(server_of(locations))]
    assert found == [(lost, by)]


@pytest.mark.parametrize(
    "locations",
    [
        r"location ~ \.php$ { } location ~ \.(php|html)$ { }",
        r"location ~ \.jpg$ { } location ~* \.jpg$ { }",
        "location ^~ /im/ { } location /im/x/ { proxy_pass http://a; } location ~ ^/im/ { }",
        "location /im/ { location = /im/x { } } location ~ ^/im { }",
        "location /im/ { proxy_pass http://a; } location ~ ^/im/ { }",
        r"location ~ a\Kb { } location ~ ab { }",
        "location ~ ^/a$ { } location ~ ^/a { }",
        # No path matches the first expression, since its anchor is in the middle.
        "location ~ a^b { } location ~ ab { }",
        "location ~ (a|b|) { } location ~ c { }",
        "location ~ ab?c { } location ~ abc { }",
        "location ~ x$ { } location ~ $ { }",
        'location ~ x$ { } location ~ "" { }',
        "location ^~ /im/ { } location ~* ^/im/x { }",
        "location ^~ /a { } location ~ .*/a { }",
        "location ^~ /a { } location ~ ^ { }",
        f"location ~ x {{ }} location ~ ({'x|' * 65}y) {{ }}",
    ],
)
def test_locations_that_may_get_a_request_are_not_reported(locations: str) -> None:
    assert [one.block.args for one in unreachable_in(server_of(locations)) if not one.is_partly] == []


def test_all_locations_that_lose_some_or_all_paths_are_found() -> None:
    text = r"""
    location ^~ /im/ { } location ~ ^/im/x { }
    location ~ /a { location /b { } location /c { } }
    location ~ \.jpg$ { } location ~* \.jpg$ { }
    """
    found = [(one.block.args[-1], one.is_partly) for one in unreachable_in(server_of(text))]
    assert found == [("^/im/x", False), ("/b", False), ("/c", False), (r"\.jpg$", True)]
