"""Tests of tuneproof.explain."""
