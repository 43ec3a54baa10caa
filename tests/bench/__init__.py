"""Costs of the lab itself: figures to print, without a verdict."""
