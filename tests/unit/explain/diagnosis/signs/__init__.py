"""What causes have in common."""
