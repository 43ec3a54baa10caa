"""The advice: for each piece its claims, arms, effects and thresholds, and what is expected."""
