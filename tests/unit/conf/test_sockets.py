"""The sockets that nginx makes from all listens, and the listens that it refuses; a lab test checks both."""

import pytest

from tests.support.read_configurations import main_of
from tuneproof.conf.sockets import sockets_of


def servers(*listens: str) -> str:
    return "events { } http { " + " ".join(f"server {{ {text} }}\n" for text in listens) + "}"


def test_a_socket_for_all_addresses_takes_the_connections_to_individual_addresses() -> None:
    """If a listen for a single address has options, both sockets are bound, and the kernel refuses the second one."""
    found = sockets_of(main_of(servers("listen 127.0.0.1:80;", "listen 80;", "")), (1, 22)).found
    assert [(one.address.name, one.is_bound, len(one.servers)) for one in found] == [
        ("127.0.0.1:80", False, 1),
        ("0.0.0.0:80", True, 2),
    ]
    refused = sockets_of(main_of(servers("listen 127.0.0.1:80 backlog=9;", "listen 80;", "listen 80;")), (1, 22))
    assert not sockets_of(main_of(servers("listen 80; listen [::]:80;")), (1, 22)).problems
    message = "bind() to 0.0.0.0:80 failed (98: Address already in use)"
    assert [(one.line, one.message) for one in refused.problems] == [(2, message)]


def test_a_socket_has_the_protocols_of_all_listens_and_the_options_of_one() -> None:
    text = servers("listen *:443 ssl;", "listen 443 http2 default_server;", "listen 0.0.0.0:443 backlog=9 reuseport;")
    (socket,) = sockets_of(main_of(text), (1, 22)).found
    assert socket.protocols == {"ssl", "http2"}
    assert [said.line for said in socket.listens] == [1, 2, 3]
    assert (socket.parameters, socket.default is socket.servers[1]) == (("backlog=9", "reuseport"), True)


def test_a_bind_error_is_reported_at_the_listen_or_at_a_server_without_one() -> None:
    for second, line in (("\nlisten 80;", 3), ("\n", 2)):
        refused = sockets_of(main_of(servers("listen 127.0.0.1:80 reuseport;", second)), (1, 22)).problems
        assert [(one.line, one.message[:25]) for one in refused] == [(line, "bind() to 0.0.0.0:80 fail")]


def test_connections_reach_the_socket_of_their_address() -> None:
    text = servers("listen 127.0.0.2:80;", "listen 80-81;", "listen [::]:82 ipv6only=off;", "listen name.example:80;")
    found = sockets_of(main_of(text), (1, 22))
    places = [("127.0.0.2", 80), ("127.0.0.1", 80), ("127.0.0.1", 81), ("127.0.0.1", 82), ("::1", 80)]
    served = [found.at(*place) for place in places]
    assert [one.address.name if one else None for one in served] == [
        "127.0.0.2:80",
        "0.0.0.0:80",
        "0.0.0.0:81",
        "[::]:82",
        None,
    ]
    assert [said.value for said in found.unknown] == ["name.example:80"]
    assert not sockets_of(main_of(text), (1, 26), protocol="stream").found


@pytest.mark.parametrize(
    ("listens", "redefined"),
    [
        # nginx does not warn if only one listen has further protocols, unless another listen has options.
        (("ssl", "", ""), []),
        (("ssl", "ssl http2", "ssl"), []),
        (("", "ssl", "ssl"), [3]),
        (("ssl", "", "ssl"), [3]),
        (("ssl", "proxy_protocol"), [2]),
        (("ssl", "reuseport"), [2]),
        (("reuseport", "ssl"), [2]),
        (("ssl reuseport", "", ""), []),
        (("ssl", "ssl reuseport", ""), [3]),
    ],
)
def test_listens_that_redefine_a_sockets_protocols_are_found(listens: tuple[str, ...], redefined: list[int]) -> None:
    """Even without a warning, the socket has the protocols of all listens (ngx_http_add_addresses of 1.23.4)."""
    texts = (f"listen 443 {parameters};" for parameters in listens)
    (socket,) = sockets_of(main_of(servers(*texts)), (1, 26)).found
    assert [place.line for place in socket.redefined] == redefined
