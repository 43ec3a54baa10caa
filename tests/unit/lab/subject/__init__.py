"""The subject's configuration."""
