"""Tests of the program that administers and observes the network."""
