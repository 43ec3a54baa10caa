"""Intervals and verdicts."""
