"""What causes share."""
