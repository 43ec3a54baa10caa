"""Tests of tuneproof.explain.parse: texts and bytes."""
