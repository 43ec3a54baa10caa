"""Tests of the lab with Docker: isolation, clean-up, bad input, claims that must fail, and comparisons with nginx."""
