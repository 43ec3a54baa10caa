"""The site: what a browser runs of Tuneproof."""
