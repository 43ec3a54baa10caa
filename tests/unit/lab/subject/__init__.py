"""Tests of tuneproof.lab.subject: the subject's configuration."""
