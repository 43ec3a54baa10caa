"""Random sets of ``listen`` directives from a seed: the same addresses in many spellings, some of them invalid."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.wording import as_numbers

FIRST_PORT: Final = 20000
PORTS: Final = 4
"""The number of ports of a set. No other set uses them, so many instances of nginx can run side by side."""
HOSTS: Final = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "::1")
"""The machine's addresses to which a client connects."""
_ADDRESSES: Final = (
    "PORT", "PORT", "*:PORT", "0.0.0.0:PORT", "127.0.0.1:PORT", "127.0.0.1:PORT", "127.0.0.2:PORT", "[::]:PORT",
    "[::]:PORT", "[::1]:PORT", "[0:0::1]:PORT", "unix:/tmp/listens/NUMBER.sock", "PORT-NEXT", "127.0.0.1:PORT-NEXT",
)  # fmt: skip
_WRONG_ADDRESSES: Final = (
    "0", "65536", "NEXT-PORT", ":PORT", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:PORT/", "[::1", "[::1]x", "[]:PORT",
    "[::g]:PORT", "[::1]:0", "unix:", "unix:/tmp/" + "x" * 108, "127.0.0.1:NEXT-PORT", "[::1]:70000",
)  # fmt: skip
_PROTOCOLS: Final = ("ssl", "http2", "ssl http2", "proxy_protocol", "ssl proxy_protocol", "quic")
_OPTIONS: Final = (
    "backlog=64", "rcvbuf=64k", "sndbuf=64k", "deferred", "bind", "reuseport", "fastopen=16", "so_keepalive=on",
    "so_keepalive=30m::10", "ipv6only=on", "ipv6only=on", "ipv6only=off", "ipv6only=off", "reuseport backlog=32",
)  # fmt: skip
_WRONG_PARAMETERS: Final = (
    "backlog=0", "backlog=x", "rcvbuf=x", "so_keepalive=1x", "so_keepalive=::", "ipv6only=of", "ipv6only=x", "spdy",
    "http3", "fastopen=-1", "multipath", "quic ssl", "quic backlog=9", "quic proxy_protocol", "backlog",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A set, as a whole configuration."""

    number: int
    text: str

    @property
    def ports(self) -> range:
        """The ports on which the set's servers may listen."""
        first = FIRST_PORT + self.number * PORTS
        return range(first, first + PORTS)


def draw(seed: int, number: int, version: Sequence[int]) -> Drawn:
    """Draw a set for a version of nginx; Debian's builds support QUIC from 1.25.0 on."""
    rng = random.Random(f"{seed} {number}")  # noqa: S311 - reproducible, not secret
    first = FIRST_PORT + number * PORTS
    shares = rng.random(), rng.choice((0.1, 0.9))
    lines = [
        f"pid /tmp/listens/{number}.pid; error_log /tmp/listens/{number}.log emerg; worker_processes 1;",
        "events { worker_connections 64; } http { access_log off; client_body_temp_path /tmp/body;",
        "proxy_temp_path /tmp/proxied; fastcgi_temp_path /tmp/fastcgi; uwsgi_temp_path /tmp/uwsgi;",
        "scgi_temp_path /tmp/scgi; ssl_certificate /etc/tuneproof/tls.crt;",
        "ssl_certificate_key /etc/tuneproof/tls.key;",
    ]
    for server in range(rng.randint(2, 4)):
        lines.append(
            f"server {{ server_name s{server}; add_header X-Server s{server} always; location / {{ return 200; }}"
        )
        lines += (f"listen {_listen(rng, first, number, shares, version)};" for _ in range(rng.choice((1, 1, 2))))
        lines.append("}")
    return Drawn(number=number, text="\n".join([*lines, "}"]) + "\n")


def _listen(rng: random.Random, first: int, number: int, shares: tuple[float, float], version: Sequence[int]) -> str:
    """Draw a listen; ``shares``: how often it has options, and how often it has protocols."""
    option_share, protocol_share = shares
    is_wrong = rng.random() < 0.04
    if rng.random() < 0.003:
        return f"localhost:{first}"
    address = rng.choice(_WRONG_ADDRESSES if is_wrong and rng.random() < 0.5 else _ADDRESSES)
    port = first + rng.choice((0, 0, 1))
    address = address.replace("PORT", str(port)).replace("NEXT", str(port + 1)).replace("NUMBER", str(number))
    parameters = []
    if rng.random() < protocol_share:
        protocol = rng.choice(_PROTOCOLS)
        parameters.append(protocol if protocol != "quic" or tuple(version) >= (1, 25, 0) else "ssl")
    if rng.random() < option_share * 0.75 and "quic" not in parameters:
        # Whether a unix socket can have SO_REUSEPORT depends on the kernel.
        of_no_family = ("reuseport", "ipv6only") if "unix" in address else ("ipv6only",) if "[" not in address else ()
        parameters.append(rng.choice([one for one in _OPTIONS if not one.startswith(of_no_family)]))
    if rng.random() < 0.15:
        parameters.append("default_server")
    if is_wrong and rng.random() < 0.5:
        parameters.append(rng.choice(_WRONG_PARAMETERS))
    rng.shuffle(parameters)
    if tuple(version) == as_numbers(MAINLINE):
        # The lab's build of mainline lacks QUIC.
        parameters = [parameter for parameter in parameters if "quic" not in parameter]
    return " ".join([address, *parameters])
