"""Lines of access logs: the article's, with and without a stall, and the lab's."""

# From the source article, during the stall, with reuseport and the host's default tcp_rmem.
STALLED = """\
172.31.91.109 [31/May/2023:08:27:49 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.790 uct="0.413" uht="0.592" urt="0.791"
172.31.91.109 [31/May/2023:08:27:50 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.058 uct="0.000" uht="0.002" urt="0.053"
172.31.91.109 [31/May/2023:08:27:51 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
172.31.91.109 [31/May/2023:08:27:51 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.763 uct="0.400" uht="0.580" urt="0.763"
172.31.91.109 [31/May/2023:08:27:52 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.767 uct="0.480" uht="0.768" urt="0.768"
172.31.91.109 [31/May/2023:08:27:53 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=580007 rt=0.773 uct="0.330" uht="0.431" urt="0.773"
172.31.91.109 [31/May/2023:08:27:55 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
172.31.91.109 [31/May/2023:08:27:55 +0000] "GET /server.pcap HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000"
"""  # noqa: E501 - recorded lines stay whole
# From the same article, with net.ipv4.tcp_rmem="40960 40960 40960".
CURED = """\
172.31.91.109 [05/Jun/2023:06:13:22 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.101 uct="0.001" uht="0.004" urt="0.101"
172.31.91.109 [05/Jun/2023:06:13:22 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.064 uct="0.001" uht="0.002" urt="0.064"
172.31.91.109 [05/Jun/2023:06:13:23 +0000] "GET /server.pcap HTTP/1.1" status=200 body_bytes_sent=3602590 rt=0.044 uct="0.000" uht="0.001" urt="0.044"
"""  # noqa: E501 - recorded lines stay whole


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
