"""Tests that do not need Docker."""
