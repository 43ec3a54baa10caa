"""Tests of tuneproof.report.results: results as values and as files."""
