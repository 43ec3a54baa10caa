"""Tests of tuneproof.report: results in files, tables, pages and charts."""
