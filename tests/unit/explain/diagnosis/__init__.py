"""From evidence to causes."""
