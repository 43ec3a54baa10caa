"""Tests of tuneproof.report.charts."""
