"""What the lab itself costs: figures to print, not to judge by."""
