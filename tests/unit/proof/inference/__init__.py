"""Tests of tuneproof.proof.inference: intervals and verdicts."""
