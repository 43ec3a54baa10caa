"""Tests of access logs."""
