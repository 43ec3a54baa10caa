"""Tests of processes in /proc and in pidstat's output."""
