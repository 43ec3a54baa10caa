# ruff: noqa: INP001 - a script, run by its path
"""Python's http.server for /srv/files: like ``python3 -m http.server``, but with a longer accept queue.

socketserver requests a queue of five by default, which overflows when a few connections arrive at once. The next one
would wait for a second until its SYN is repeated, and a stall in the backend would look like one in nginx.
"""

import contextlib
import functools
import http.server


class FilesServer(http.server.ThreadingHTTPServer):
    """Serves each connection in a thread, with a longer queue for connections that wait."""

    request_queue_size = 1024


if __name__ == "__main__":
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="/srv/files")
    with FilesServer(("", 8000), handler) as server, contextlib.suppress(KeyboardInterrupt):
        print("Serving HTTP on port 8000 from /srv/files")  # noqa: T201 - the lab waits for this line
        server.serve_forever()
