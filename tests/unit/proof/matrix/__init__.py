"""Tests of tuneproof.proof.matrix: the cells of a run, divided into parts."""
