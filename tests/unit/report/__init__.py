"""What a run decided, as people read it."""
