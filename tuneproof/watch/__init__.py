"""Watches the event loop of a running nginx: with the kernel's tracepoints, or with requests from outside."""
