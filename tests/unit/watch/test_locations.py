"""A stall's upstream or file is matched with locations in the configuration."""

from pathlib import Path

import pytest

from tests.support.canned_loops import SECOND
from tuneproof.audit.auditing import audit
from tuneproof.conf.facts import Facts
from tuneproof.explain.parse.event_loop import LoopRecording
from tuneproof.explain.parse.event_loop_summary import summarise
from tuneproof.watch.diagnosis import diagnosis
from tuneproof.watch.locations import locations

CONF = """\
events {}
http {
    upstream app { server 10.0.0.3:8000; server [2001:db8::1]:8001; }
    server {
        root /srv/www;
        location / { try_files $uri =404; }
        location /api/ { proxy_pass http://app; }
        location /shop/ { proxy_pass http://shop.internal; }
        location /tls/ { proxy_pass https://10.0.0.9; }
        location /any/ { proxy_pass http://$arg_host; }
        location /films/ { alias /mnt/films/; }
        location ~ \\.iso$ { root /mnt/$host; }
    }
}
"""


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    (tmp_path / "nginx.conf").write_text(CONF)
    return audit(str(tmp_path / "nginx.conf")).facts


@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("upstream 10.0.0.3:8000", ["/api/"]),
        ("upstream [2001:db8::1]:8001", ["/api/"]),
        ("upstream 10.0.0.4:8000", []),
        ("upstream 10.0.0.5:80", ["/shop/"]),
        ("upstream 10.0.0.7:80", ["/shop/"]),
        ("upstream 10.0.0.6:80", []),
        ("upstream 10.0.0.9:443", ["/tls/"]),
        ("/srv/www/index.html", ["/"]),
        ("/srv/www/films/x", ["/"]),
        ("/srv/www/api/x", ["/api/"]),
        ("/mnt/films/x.mp4", ["/films/"]),
        ("/var/lib/nginx/proxy", []),
        ("client 10.0.0.3", []),
        ("", []),
    ],
)
def test_a_target_is_matched_by_address_or_path(facts: Facts, target: str, fits: list[str]) -> None:
    """The longest folder wins, and all addresses of a name match; locations that depend on the request never do."""
    shop = frozenset({"10.0.0.5", "10.0.0.7"})
    found = locations(facts, target, lambda host: shop if host == "shop.internal" else frozenset())
    assert [block.args[-1] if block.args else "" for block in found] == fits


def test_a_name_that_is_unknown_here_is_matched_by_its_port(facts: Facts) -> None:
    """A container's neighbours have names that resolve only in the container."""
    assert [block.args for block in locations(facts, "upstream 10.0.0.6:80", lambda _: frozenset())] == [("/shop/",)]
    assert locations(facts, "upstream 10.0.0.6:81", lambda _: frozenset()) == ()


def test_the_diagnosis_of_a_stall_names_the_locations() -> None:
    """Without a configuration, none are named."""
    loops = summarise(LoopRecording(began="", seconds=(SECOND,)))
    lines = list(diagnosis(loops, lambda target: f"{target}: location /" if "10.0.0.3" in target else ""))
    assert "  Where: upstream 10.0.0.3:8000: location /" in lines
    assert not any("Where" in line for line in diagnosis(loops))
