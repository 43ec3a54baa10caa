"""Tests of tuneproof.audit."""
