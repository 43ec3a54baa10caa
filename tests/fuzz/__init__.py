"""Hundreds of thousands of damaged files for every parser of evidence: ``python -m tests.fuzz``."""
