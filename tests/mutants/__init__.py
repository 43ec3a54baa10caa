"""Puts small faults into the code, and lists those that no test finds: `python -m tests.mutants`."""
