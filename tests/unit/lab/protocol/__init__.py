"""Tests of tuneproof.lab.protocol: messages between the lab and the programs in its containers."""
