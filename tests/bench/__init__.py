"""Measures the costs of commands and of the recorder, and prints the figures without a verdict."""
