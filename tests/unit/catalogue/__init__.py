"""Tests of tuneproof.catalogue, without Docker."""
