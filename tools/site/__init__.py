"""The site: the part of Tuneproof that runs in a browser."""
