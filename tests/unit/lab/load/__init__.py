"""Tests of tuneproof.lab.load."""
