"""``python -m tests.mutants`` puts small faults into the code, and lists those that no test finds."""
