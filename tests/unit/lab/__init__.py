"""Tests of tuneproof.lab, without Docker."""
