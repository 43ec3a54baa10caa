"""Feeds damaged files to every parser of untrusted input: ``python -m tests.fuzz``."""
