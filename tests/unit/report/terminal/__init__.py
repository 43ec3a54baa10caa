"""Tests of tuneproof.report.terminal: tables and progress."""
