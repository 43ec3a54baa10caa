"""Tuneproof's claims, and the tests of its own parts."""
