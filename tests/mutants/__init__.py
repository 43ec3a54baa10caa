"""Small faults in the code, and which of them no test finds: `python -m tests.mutants`."""
