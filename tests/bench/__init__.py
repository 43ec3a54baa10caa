"""Measures the costs of the lab itself, and prints the figures without a verdict."""
