"""The server that a request's host selects; a lab test compares the results with nginx."""

import pytest

from tests.support.read_configurations import main_of
from tuneproof.conf.hosts import never_chosen, server_for
from tuneproof.conf.sockets import sockets_of

TEXT = r"""
events { }
http {
    server { listen 80; server_name a.example; }
    server { listen 80; server_name *.example ~^x\d ~^yZ; }
    server { listen 80; server_name .b.example www.* ftp.net.*; }
    server { listen 80; server_name ""; }
    server { listen 80; server_name A.example b.example:80 .a.example; }
    server { listen 80; server_name ~^x\d; }
    server { listen 80; server_name *.b.example; }
    server { listen 80; server_name www.*; }
    server { listen 80; server_name [::1]; }
}
"""
SOCKETS = sockets_of(main_of(TEXT), (1, 22))


@pytest.mark.parametrize(
    ("host", "line"),
    [
        ("a.example", 4),
        ("A.Example.:8080", 4),
        ("c.example", 5),
        ("b.example", 6),
        ("x.y.b.example", 6),
        ("www.org", 6),
        ("www", 4),
        ("", 7),
        ("x1.org", 5),
        ("y.org", 4),
        ("yz.org", 5),
        ("x.a.example", 5),
        ("ftp.net", 4),
        ("[::1]:80", 12),
    ],
)
def test_a_host_reaches_the_server_with_the_closest_name(host: str, line: int) -> None:
    (socket,) = SOCKETS.found
    found = server_for(socket, host)
    assert (found.server.line, found.doubt) == (line, "")


def test_a_server_without_its_own_name_never_gets_a_request() -> None:
    assert [(one.line, other.line) for one, other in never_chosen(SOCKETS)] == [(8, 4), (9, 5), (10, 6), (11, 6)]


def test_the_machines_own_name_makes_the_answer_uncertain() -> None:
    main = main_of("events { } http { server { server_name a; } server { server_name $hostname; } }")
    (socket,) = sockets_of(main, (1, 22)).found
    assert server_for(socket, "b").doubt
