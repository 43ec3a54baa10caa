"""Load generators of the client role: loop probe, fast requests, bulk downloads. Standard library only."""
