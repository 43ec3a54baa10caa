"""The kernel's counters."""
