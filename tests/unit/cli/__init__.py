"""Tests of tuneproof.cli."""
