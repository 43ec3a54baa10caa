"""Tests of the kernel's counters."""
