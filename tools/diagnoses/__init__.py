"""Measures how often diagnoses of recorded evidence are right, with all files and with one missing."""
