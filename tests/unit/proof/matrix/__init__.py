"""The cells of a run, shared out."""
