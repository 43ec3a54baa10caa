"""Tests of tuneproof.lab.network: links."""
