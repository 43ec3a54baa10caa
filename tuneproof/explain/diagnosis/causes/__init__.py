"""One module for each cause: its signs, weighed."""
