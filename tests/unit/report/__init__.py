"""A run's verdicts, as people read them."""
