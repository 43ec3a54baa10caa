"""A backend for many simultaneous connections: HTTP/1.0 and 1.1 on an event loop (BACKEND_KIND=asyncio)."""
