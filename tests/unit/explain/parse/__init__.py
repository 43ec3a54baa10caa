"""Texts and bytes, parsed."""
