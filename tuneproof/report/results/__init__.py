"""The results of runs as values and as files."""
