"""Tests of the programs inside the images."""
