"""Parsing of texts and bytes."""
