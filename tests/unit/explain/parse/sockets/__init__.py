"""Tests of tables of sockets."""
