"""Tests of tuneproof.yours: what a user's own nginx needs, how it is reached, and the claims about it."""
