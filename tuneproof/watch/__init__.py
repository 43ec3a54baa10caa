"""The event loop of a running nginx: from the kernel's tracepoints, or by probes from outside."""
