"""Tests of the clients for HTTP/3 and post-quantum TLS."""
