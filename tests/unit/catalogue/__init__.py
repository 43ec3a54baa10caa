"""The advice, without Docker."""
