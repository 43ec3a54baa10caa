"""The rows of messages, and the page that is made from them."""
