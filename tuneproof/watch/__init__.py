"""The event loop of an nginx that is running now: from the kernel's tracepoints, or by probes from outside."""
