"""The clients for HTTP/3."""
