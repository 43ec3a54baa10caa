"""Lines of access logs: the article's, with and without a stall, and the lab's."""

from tests.support.outputs import output

# From the source article, during the stall, with reuseport and the host's default tcp_rmem.
STALLED = output("access_log_stalled")
# From the same article, with net.ipv4.tcp_rmem="40960 40960 40960".
CURED = output("access_log_cured")


def a_line(**changes: str) -> str:
    """Return a line in the lab's format, in which ``changes`` replace some fields."""
    values = {
        "request": "GET /small HTTP/1.1",
        "status": "200",
        "bytes": "3602590",
        "rt": "0.058",
        "uct": "0.001",
        "uht": "0.002",
        "urt": "0.053",
        "tail": ' pid=31 connection=7 trial="b1-loaded"',
    } | changes
    return (
        '172.18.0.3 [20/Nov/2026:09:36:16 +0000] "{request}" status={status} body_bytes_sent={bytes} '
        'rt={rt} uct="{uct}" uht="{uht}" urt="{urt}"{tail}'
    ).format(**values)
