"""Labs, without Docker."""
