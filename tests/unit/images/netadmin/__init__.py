"""The network's administrator and observer."""
