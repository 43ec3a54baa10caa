"""Tests of tuneproof.explain.diagnosis: from evidence to causes."""
