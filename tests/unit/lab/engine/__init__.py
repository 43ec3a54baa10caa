"""Tests of tuneproof.lab.engine: the engine's set-up and clean-up."""
