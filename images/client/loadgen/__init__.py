"""The client's load generators, such as the loop probe, fast requests and bulk downloads; most need only Python."""
