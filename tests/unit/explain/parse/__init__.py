"""Tests of tuneproof.explain.parse."""
