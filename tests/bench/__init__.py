"""What the lab itself costs: figures to print, without a verdict."""
