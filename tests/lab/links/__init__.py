"""Shaped links, measured in one lab."""
