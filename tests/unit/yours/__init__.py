"""The user's own nginx: what it needs, how it is reached, and the claims about it."""
