"""A backend for many connections at once: HTTP/1.0 and 1.1 on an event loop (BACKEND_KIND=asyncio)."""
