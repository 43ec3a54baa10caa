"""From files to their content."""
