"""Tests of the report's pages in a browser."""
