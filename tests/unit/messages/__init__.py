"""Tests of the rows of messages, and of the page that is made from them."""
