"""The client's load generators, such as loop probe, fast requests and bulk downloads; most need only Python itself."""
