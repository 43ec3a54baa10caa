"""From trials to verdicts."""
