"""Scenarios, blocks and claims."""
