"""Access logs."""
