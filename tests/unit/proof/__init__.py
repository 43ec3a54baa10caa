"""Tests of tuneproof.proof: from trials to verdicts."""
