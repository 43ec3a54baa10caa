"""Tests of tuneproof.lab.topology: containers and labs."""
