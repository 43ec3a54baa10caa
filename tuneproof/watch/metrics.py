"""The figures of running event loops in the OpenMetrics format (https://openmetrics.io)."""

import threading
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tuneproof.explain.parse.event_loop import LoopSecond
from tuneproof.explain.parse.event_loop_summary import Reason, parts
from tuneproof.wording import one_line

CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_BUCKETS_EXPONENTS: Final = range(14, 31, 2)  # 16 us to 1 s
_NS_PER_S: Final = 1e9
_GONE_AFTER_S: Final = 300.0
_Key = tuple[str, int]


class Metrics:
    """Sums since watching began; the server's thread reads them while others are added.

    Bytes are counted only in seconds in which calls are timed. A worker is dropped five minutes after its end, since
    each reload brings new ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: dict[_Key, Counter[int]] = defaultdict(Counter)
        self._busy_s: dict[_Key, float] = defaultdict(float)
        self._bytes: Counter[tuple[_Key, str]] = Counter()
        self._long_s: dict[tuple[_Key, Reason], float] = defaultdict(float)
        self._seen_at_s: dict[_Key, float] = {}

    def add(self, made: tuple[LoopSecond, ...]) -> None:
        """Add a second of all workers."""
        with self._lock:
            for second in made:
                key = second.name, second.worker
                self._seen_at_s[key] = second.at_s
                self._histograms[key].update(second.histogram)
                self._busy_s[key] += second.busy_s
                self._bytes[key, "read"] += second.read_bytes or 0
                self._bytes[key, "written"] += second.written_bytes or 0
                for each in second.long:
                    for reason, part_s in parts(each).items():
                        self._long_s[key, reason] += part_s
            now_s = max(self._seen_at_s.values(), default=0.0)
            for key in [each for each, at_s in self._seen_at_s.items() if at_s < now_s - _GONE_AFTER_S]:
                self._forget(key)

    def _forget(self, key: _Key) -> None:
        for known in (self._histograms, self._busy_s, self._seen_at_s):
            known.pop(key, None)
        for pair in [each for each in self._bytes if each[0] == key]:
            del self._bytes[pair]
        for part in [each for each in self._long_s if each[0] == key]:
            del self._long_s[part]

    def text(self) -> str:
        """Return the metrics as text."""
        with self._lock:
            lines = ["# TYPE nginx_loop_iteration_seconds histogram", "# UNIT nginx_loop_iteration_seconds seconds"]
            for key, histogram in self._histograms.items():
                of, name = _labels(key), "nginx_loop_iteration_seconds"
                for exponent in _BUCKETS_EXPONENTS:
                    # An exponent is the floor of the binary logarithm, so values with a smaller one are below ``le``.
                    number = sum(count for each, count in histogram.items() if each < exponent)
                    lines.append(f'{name}_bucket{{{of},le="{2**exponent / _NS_PER_S}"}} {number}')
                lines.append(f'{name}_bucket{{{of},le="+Inf"}} {histogram.total()}')
                lines.append(f"{name}_count{{{of}}} {histogram.total()}")
                lines.append(f"{name}_sum{{{of}}} {self._busy_s[key]}")
            lines.append("# TYPE nginx_loop_bytes counter")
            lines += [
                f'nginx_loop_bytes_total{{{_labels(key)},direction="{way}"}} {number}'
                for (key, way), number in self._bytes.items()
            ]
            lines.append("# TYPE nginx_loop_long_seconds counter")
            lines += [
                f'nginx_loop_long_seconds_total{{{_labels(key)},reason="{reason}"}} {long_s}'
                for (key, reason), long_s in self._long_s.items()
            ]
        return "\n".join([*lines, "# EOF", ""])


def serve(metrics: Metrics, host: str, port: int) -> ThreadingHTTPServer:
    """Serve GET /metrics in a separate thread; the caller shuts it down.

    OSError: The server cannot listen on the address.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = metrics.text().encode() if self.path == "/metrics" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: a scraper sends a request every few seconds."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _labels(key: _Key) -> str:
    name, worker = key
    escaped = one_line(name).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'nginx="{escaped}",worker="{worker}"'
