"""The messages between the lab and the programs in its containers."""
