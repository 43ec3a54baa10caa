"""Measures the costs of the lab itself, and prints figures without a verdict."""
