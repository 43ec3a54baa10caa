"""Compares the rows in tuneproof/messages to what nginx's source can log, and writes docs/error-log.md."""
