"""Tests of the rows about nginx's messages, and of the page that is generated from them."""
