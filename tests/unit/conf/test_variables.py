"""The possible values of a variable: all values that a configuration may assign, or None if they are unknown."""

import pytest

from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import read_configuration
from tuneproof.conf.upstreams import targets_of
from tuneproof.conf.variables import possible_values

PROXIED = "proxy_pass http://$b;"


@pytest.mark.parametrize(
    ("http", "expected"),
    [
        (f"server {{ set $b one; location / {{ {PROXIED} }} }}", {"one"}),
        (f"server {{ set $b one; if ($arg_a) {{ set $b two; }} location / {{ {PROXIED} }} }}", {"one", "two"}),
        (f"server {{ location / {{ {PROXIED} }} }}", None),
        # Variables keep their values when a request continues in another location.
        (
            f"server {{ set $b one; location / {{ {PROXIED} }} location /a {{ set $b two; rewrite ^ / last; }} }}",
            {"one", "two"},
        ),
        (
            f"server {{ set $b one; location @a {{ {PROXIED} }} location /a {{ set $b two; try_files $uri @a; }} }}",
            {"one", "two"},
        ),
        (f"server {{ set $b one; location / {{ {PROXIED} }} location /a {{ set $b two; }} }}", {"one"}),
        (
            f"server {{ set $b one; location / {{ {PROXIED} }} location /a {{ set $b two; rewrite ^ /b break; }} }}",
            {"one"},
        ),
        (
            f"server {{ location / {{ set $b one; {PROXIED} }} location /a {{ set $b two; rewrite ^ / last; }} }}",
            {"one"},
        ),
        (f"server {{ set $b one; location / {{ auth_request_set $b $upstream_http_b; {PROXIED} }} }}", None),
        (f"server {{ set $b one; location / {{ access_by_lua_block {{ f() }} {PROXIED} }} }}", None),
        (f"server {{ set $b one; location / {{ log_by_lua_block {{ f() }} {PROXIED} }} }}", {"one"}),
        (f"server {{ set $b one; location ~ ^/(?<b>.*) {{ {PROXIED} }} }}", None),
        (f"map $uri $b {{ /a one; }} server {{ location / {{ {PROXIED} }} }}", {"", "one"}),
        (f"map $uri $b {{ default one; include more.map; }} server {{ location / {{ {PROXIED} }} }}", None),
        (f"geo $b {{ 10.0.0.0/8 one; }} server {{ location / {{ {PROXIED} }} }}", {"", "one"}),
        (f"geo $b {{ default two; 10.0.0.0/8 one; }} server {{ location / {{ {PROXIED} }} }}", {"one", "two"}),
        (f"split_clients $uri $b {{ 50% one; }} server {{ location / {{ {PROXIED} }} }}", {"", "one"}),
        (f"split_clients $uri $b {{ 50% one; * two; }} server {{ location / {{ {PROXIED} }} }}", {"one", "two"}),
    ],
)
def test_all_possible_values_of_a_variable_are_found_or_it_is_unknown(http: str, expected: set[str] | None) -> None:
    source = Dump({"nginx.conf": f"events {{ }}\nhttp {{ {http} }}\n"}, is_complete=False)
    [target] = targets_of(read_configuration(source).main)
    assert possible_values("$b", target.block) == expected
