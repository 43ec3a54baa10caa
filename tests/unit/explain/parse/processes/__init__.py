"""Processes in /proc and in pidstat's output."""
