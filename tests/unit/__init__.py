"""Tests of everything that does not need Docker."""
