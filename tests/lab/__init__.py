"""Tests of what the lab promises, with Docker: isolation, clean-up, bad input, and claims that fail when they must."""
