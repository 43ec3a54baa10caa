"""The messages between the lab and the programs in its containers; both sides import this, so it needs only Python."""
