"""Tests of the pure parts: no Docker."""
