"""Shaped links, measured in one lab for each shaper."""
