"""The HTTP/3 clients."""
