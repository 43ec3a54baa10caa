"""The location that finally answers a request; a lab test compares the results with nginx."""

import pytest

from tests.support.read_configurations import server_of
from tuneproof.conf.answers import answer

SERVER = server_of(
    r"""
    error_page 404 = @app;
    error_page 403 410 /gone;
    location / { try_files $uri $uri/ /index.php?$args; }
    location ~ \.php$ { fastcgi_pass a:9000; }
    location @app { proxy_pass http://a; }
    location /static/ { }
    location /secret { return 403; }
    location = /gone { return 200 gone; }
    location /hidden { internal; return 410; }
    location /loop { try_files $uri /loop; }
    location /text { return 404 text; }
    location /if { if ($arg_a) { return 204; } proxy_pass http://a; }
    location /moved/ { proxy_pass http://a; }
    location /lost { try_files $uri @nobody; }
    """
)


@pytest.mark.parametrize(
    ("target", "last", "status"),
    [
        ("/page?x", r"\.php$", None),
        ("/static/x.css", "@app", None),
        ("/secret", "/gone", 403),
        ("/hidden", "@app", None),
        ("/loop", "/loop", 500),
        ("/text", "/text", 404),
        ("/moved", "/moved/", 301),
        ("/lost", "/lost", 500),
        ("/%zz", None, 400),
    ],
)
def test_the_location_that_finally_answers_is_found(target: str, last: str | None, status: int | None) -> None:
    found = answer(target, SERVER, (1, 26))
    assert (found.block.args[-1] if found.block.args else None, found.status, found.doubt) == (last, status, "")


def test_a_condition_makes_the_answer_uncertain() -> None:
    found = answer("/if", SERVER, (1, 26))
    assert found.block.args == ("/if",)
    assert found.doubt
