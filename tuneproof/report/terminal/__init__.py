"""Output for terminals and CI jobs."""
