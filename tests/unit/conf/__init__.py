"""Tests of tuneproof.conf."""
