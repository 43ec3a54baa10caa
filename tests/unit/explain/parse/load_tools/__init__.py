"""Reports of load generators."""
