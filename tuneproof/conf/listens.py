"""One ``listen`` directive: its addresses and parameters, as ngx_parse_url and ngx_http_core_listen read them.

``listen`` in stream{} and mail{} is covered, too.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.values import size_bytes, time_ms

_DEFAULT_PORT: Final = 80
_MAX_PORT: Final = 65535
_MAX_PATH_BYTES: Final = 107  # length of sun_path, without the zero byte at its end
_PROTOCOLS: Final = frozenset({"ssl", "http2", "proxy_protocol", "quic"})
_NO_SPDY: Final = (1, 19, 7)
_SINCE: Final = {
    ("http", "quic"): (1, 25, 0),
    ("mail", "proxy_protocol"): (1, 19, 8),
    ("stream", "fastopen"): (1, 21, 0),
    **{("stream", name): (1, 25, 5) for name in ("deferred", "default_server", "accept_filter")},
    **{(protocol, "multipath"): (1, 29, 7) for protocol in ("http", "stream", "mail")},
}
_ONLY_HTTP: Final = frozenset({"http2", "quic", "spdy", "default"})
_LACKED: Final = {
    "http": frozenset({"udp"}),
    "stream": _ONLY_HTTP,
    "mail": _ONLY_HTTP | {"udp", "default_server", "deferred", "accept_filter", "fastopen", "reuseport"},
}
# Before this version, stream{} and mail{} had other messages.
_ONE_MESSAGE_SINCE: Final = (1, 25, 5)
# Each of these makes nginx bind the address separately, and only one of a socket's listens may have any of them.
_FLAGS: Final = frozenset({"bind", "deferred", "reuseport", "multipath", "ipv6only=on", "ipv6only=off"})
_NO_OPTIONS: Final = frozenset({*_PROTOCOLS, "default_server", "default", "spdy", "udp"})
# nginx refuses parameters for TCP together with UDP, which QUIC also uses.
_OF_TCP: Final = ("fastopen", "backlog", "deferred", "multipath", "ssl", "http2", "so_keepalive", "proxy_protocol")
_IPV4: Final = re.compile(r"(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})", re.ASCII)
_MAX_OCTET: Final = 255


class ListenError(Exception):
    """A ``listen`` that nginx refuses, with nginx's error message."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address of a socket."""

    host: str  # an IP address without brackets, "0.0.0.0" or "::" for all; or the path of a unix socket
    port: int = 0  # 0 for a unix socket
    is_udp: bool = False

    @property
    def family(self) -> str:
        """The address family: "inet", "inet6" or "unix"."""
        if not self.port:
            return "unix"
        return "inet6" if ":" in self.host else "inet"

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for all addresses of its family."""
        return self.host in {"0.0.0.0", "::"} and bool(self.port)  # noqa: S104 - compared, not bound

    @property
    def name(self) -> str:
        """The address as nginx prints it."""
        if not self.port:
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if self.family == "inet6" else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Listen:
    """A ``listen`` directive, or port 80 of a server that has none."""

    statement: Statement | None
    addresses: tuple[Address, ...] = (Address(host="0.0.0.0", port=_DEFAULT_PORT),)  # noqa: S104 - nothing is bound here
    """Its addresses; empty for a host name, which needs a resolver."""
    protocols: frozenset[str] = frozenset()
    is_default: bool = False
    has_options: bool = False  # whether it has parameters that only one of a socket's listens may have

    @classmethod
    def of(cls, statement: Statement | None, version: tuple[int, ...], *, protocol: str = "http") -> "Listen":
        """Read a ``listen`` of http{}, stream{} or mail{}: its address first, as nginx does.

        Raises ListenError: That version of nginx refuses it.
        """
        if statement is None:
            return cls(statement=None)
        if not statement.args:
            raise ListenError('invalid number of arguments in "listen" directive')
        written, *parameters = statement.args
        try:
            host, ports = _parsed(written) or ("", ())
        except _UrlError as error:
            raise ListenError(f'{error} in "{written}" of the "listen" directive') from None
        names = {parameter.partition("=")[0] for parameter in parameters}
        for parameter in parameters:
            if refusal := _refusal(parameter, version, protocol):
                raise ListenError(refusal)
        udp = next((name for name in ("quic", "udp") if name in names), None)
        if udp and (wrong := next((name for name in _OF_TCP if name in names), None)):
            raise ListenError(f'"listen" directive "{wrong}" parameter is incompatible with "{udp}"')
        return cls(
            statement=statement,
            addresses=tuple(Address(host=host, port=port, is_udp=udp is not None) for port in ports),
            protocols=_PROTOCOLS & names,
            is_default=bool({"default_server", "default"} & names),
            has_options=not names <= {*_NO_OPTIONS, "accept_filter"},
        )


class _UrlError(Exception):
    pass


def _parsed(written: str) -> tuple[str, range] | None:
    """Return the host and the ports of an address; None for a host name."""
    if written[:5].lower() == "unix:":
        path = written[5:]
        if not path:
            raise _UrlError("no path in the unix domain socket")
        if len(path.encode(errors="surrogateescape")) > _MAX_PATH_BYTES:
            raise _UrlError("too long path in the unix domain socket")
        return path, range(1)
    if written.startswith("["):
        return _ipv6(written)
    if "/" in written or "?" in written:
        raise _UrlError("invalid host")
    host, colon, port = written.partition(":")
    if not colon and (ports := _ports_alone(written)) is not None:
        return "0.0.0.0", ports  # noqa: S104 - as above
    ports = _ports(port) if colon else range(_DEFAULT_PORT, _DEFAULT_PORT + 1)
    if not host or "," in host:
        raise _UrlError("host not found" if host else "no host")
    if host == "*":
        return "0.0.0.0", ports  # noqa: S104 - as above
    octets = _IPV4.fullmatch(host)
    if octets is None or any(int(octet) > _MAX_OCTET for octet in octets.groups()):
        return None
    return ".".join(str(int(octet)) for octet in octets.groups()), ports


def _ipv6(written: str) -> tuple[str, range]:
    host, bracket, rest = written[1:].partition("]")
    if not bracket or "/" in rest or (rest and not rest.startswith(":")):
        raise _UrlError("invalid host")
    ports = _ports(rest[1:]) if rest else range(_DEFAULT_PORT, _DEFAULT_PORT + 1)
    if not host:
        raise _UrlError("no host")
    try:
        return str(ipaddress.IPv6Address(host)), ports
    except ValueError:
        raise _UrlError("invalid IPv6 address") from None


def _ports(text: str) -> range:
    first, dash, last = text.partition("-")
    numbers = [_number(part) for part in ((last, first) if dash else (first,))]
    if any(number is None or not 0 < number <= _MAX_PORT for number in numbers):
        raise _UrlError("invalid port")
    low, high = numbers[-1] or 0, numbers[0] or 0
    if low > high:
        raise _UrlError("invalid port range")
    return range(low, high + 1)


def _ports_alone(text: str) -> range | None:
    """Return the ports of an address without a host; None if it is a host."""
    parts = text.split("-", 1)
    return _ports(text) if all(_number(part) is not None for part in parts) else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _refusal(parameter: str, version: tuple[int, ...], protocol: str) -> str:
    """Return nginx's message about a parameter that it refuses; empty for others."""
    name, equals, value = parameter.partition("=")
    is_known = version >= _SINCE.get((protocol, name), version) and name not in _LACKED[protocol]
    if is_known and (name != "spdy" or version < _NO_SPDY):
        if parameter in _FLAGS or parameter in _NO_OPTIONS:
            return ""
        if equals and name in _VALUES:
            return "" if _VALUES[name](value) else _INVALID.get(name, f'invalid {name} "{{}}"').format(parameter, value)
    if parameter.startswith("ipv6only=o"):
        return f'invalid ipv6only flags "{parameter[9:]}"'
    is_own = protocol != "http" and version < _ONE_MESSAGE_SINCE
    return f'the invalid "{parameter}" parameter' if is_own else f'invalid parameter "{parameter}"'


def _is_keepalive(value: str) -> bool:
    if value in {"on", "off"}:
        return True
    idle, _, rest = value.partition(":")
    interval, _, count = rest.partition(":")
    times = [time_ms(part) for part in (idle, interval) if part]
    if None in times or (count and _number(count) is None):
        return False
    return any(times) or bool(_number(count))


_INVALID: Final = {"so_keepalive": 'invalid so_keepalive value: "{1}"'}
_VALUES: Final[Mapping[str, Callable[[str], bool]]] = {
    "backlog": lambda value: bool(_number(value)),
    "fastopen": lambda value: _number(value) is not None,
    "rcvbuf": lambda value: size_bytes(value) is not None,
    "sndbuf": lambda value: size_bytes(value) is not None,
    "so_keepalive": _is_keepalive,
    # These are for other systems; on Linux, nginx ignores accept_filter with an error message, and refuses setfib.
    "accept_filter": lambda _: True,
    "setfib": lambda _: True,
}
