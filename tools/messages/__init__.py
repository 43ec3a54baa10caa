"""Compares the rows of tuneproof/messages with what nginx's source can write, and writes docs/error-log.md."""
