"""Tests of tuneproof.watch."""
