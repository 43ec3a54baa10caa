"""Damaged evidence by the hundred thousand for every parser of evidence: ``python -m tests.fuzz``."""
