"""One module for each cause, which weighs its signs."""
