"""Upstream times by server and path, so that a distant server does not make others seem late."""

from dataclasses import dataclass
from typing import Final, TypeVar

from tuneproof.explain.parse.access_log.kinds import kind_of_path, lasts_by_design, may_have_body
from tuneproof.explain.parse.access_log.records import LogRecord
from tuneproof.explain.parse.access_log.sums import Sample
from tuneproof.explain.parse.figures import Distribution

NOT_LOGGED: Final = ""
"""The server of upstream times in a log without addresses."""

_MOST_SERVERS: Final = 1_000
_MOST_PATHS: Final = 500
_MOST_VALUES: Final = 2_000

Key = TypeVar("Key")


@dataclass(frozen=True, kw_only=True)
class ServerConnects:
    """The times of a worker's new connections to one upstream server.

    nginx logs a reused connection as 0.000, and often a new one to a nearby server as well: only connects of a
    millisecond or longer are certainly new. The time includes the TLS handshake with the upstream
    (https://nginx.org/en/docs/http/ngx_http_upstream_module.html#var_upstream_connect_time).
    """

    worker_pid: int | None  # the worker's process id; None if not logged
    server: str  # the server's address, or NOT_LOGGED
    connect_time_s: Distribution


@dataclass(frozen=True, kw_only=True)
class PathTimes:
    """The time of one upstream server for one kind of path, from connected to the response header."""

    server: str  # the server's address, or NOT_LOGGED
    path: str  # with a star for each part that contains a digit
    own_time_s: Distribution
    """Times of requests without a body: a backend would also wait for the body."""


class UpstreamTimes:
    """Collects a log's upstream times by server."""

    def __init__(self) -> None:
        self._connects: dict[tuple[int | None, str], Sample] = {}
        self._paths: dict[tuple[str, str], Sample] = {}

    def add(self, record: LogRecord) -> None:
        """Add a request."""
        connects, headers = record.upstream_connect_time_s, record.upstream_header_time_s
        servers = record.upstream_addr if len(record.upstream_addr) == len(connects) else ()
        for at, connect_s in enumerate(connects):
            if connect_s:
                server = servers[at] if servers else NOT_LOGGED
                _add(self._connects, (record.worker_pid, server), connect_s, most=_MOST_SERVERS)
        if not connects or not headers or may_have_body(record) or lasts_by_design(record):
            return
        connect_s, header_s = connects[-1], headers[-1]
        if connect_s is not None and header_s is not None:
            server = servers[-1] if servers else NOT_LOGGED
            own_s = max(0.0, header_s - connect_s)
            _add(self._paths, (server, kind_of_path(record)), own_s, most=_MOST_PATHS)

    def connects(self) -> tuple[ServerConnects, ...]:
        """Return the times of new connections."""
        return tuple(
            ServerConnects(worker_pid=pid, server=server, connect_time_s=times)
            for (pid, server), sample in self._connects.items()
            if (times := sample.distribution()) is not None
        )

    def paths(self) -> tuple[PathTimes, ...]:
        """Return the times by server and kind of path."""
        return tuple(
            PathTimes(server=server, path=path, own_time_s=times)
            for (server, path), sample in self._paths.items()
            if (times := sample.distribution()) is not None
        )


def _add(samples: dict[Key, Sample], key: Key, value_s: float, *, most: int) -> None:
    sample = samples.get(key)
    if sample is None:
        if len(samples) >= most:
            return
        sample = samples[key] = Sample(_MOST_VALUES)
    sample.add(value_s)
