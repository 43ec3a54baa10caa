"""Tests of tuneproof.lab.subject: nginx containers."""
