"""Tests of tuneproof.report.html: the report's pages."""
