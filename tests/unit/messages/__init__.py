"""The rows of messages, and what is made of them."""
