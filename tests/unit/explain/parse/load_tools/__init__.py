"""Tests of load generators' reports."""
