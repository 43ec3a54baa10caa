"""Tests of tuneproof.report: a run's verdicts, as people read them."""
