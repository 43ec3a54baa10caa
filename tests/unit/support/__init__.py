"""The tests' own support."""
