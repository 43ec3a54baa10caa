"""Tuneproof's library: labs in Docker, loads, evidence, inference and reports for nginx tuning claims."""
