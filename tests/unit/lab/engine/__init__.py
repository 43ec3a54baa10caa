"""The engine's set-up and clean-up."""
