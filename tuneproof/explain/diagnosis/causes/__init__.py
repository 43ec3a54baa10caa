"""The modules that weigh the signs of a cause, or of several related ones."""
