"""The cells of a run, divided into parts."""
