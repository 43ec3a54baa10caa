"""Tests that need Docker: the lab, claims that must fail, ``watch``, and comparisons with nginx and tshark."""
