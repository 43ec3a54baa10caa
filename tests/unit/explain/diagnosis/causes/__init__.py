"""One module for each cause."""
