"""The user's own nginx: what it needs, how it is reached, and what is claimed of it."""
