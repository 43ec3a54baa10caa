"""Tests of tuneproof.proof.scenario: scenarios, blocks and claims."""
